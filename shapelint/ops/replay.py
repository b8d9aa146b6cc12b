"""The replay buffer of stable-baselines3: rewards and whether it was the end are columns, whatever the environment."""

from __future__ import annotations

from functools import partial

from shapelint.domain.dims import ONE, Dim, anonymous, product
from shapelint.domain.values import UNKNOWN, Axis, Int, Layer, Maker, Shape, Tensor, Tuple, Value
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.environments import DISCRETE
from shapelint.ops.op import Op, Result, prepend, size_or_any, unknown_shape
from shapelint.ops.results import CONSTANT

BUFFER = "stable_baselines3.common.buffers.ReplayBuffer"
FIELDS = ("observations", "actions", "next_observations", "dones", "rewards")


def buffer(observation_space: Value = UNKNOWN, action_space: Value = UNKNOWN) -> Result:
    """Only what it was given tells what its samples look like."""
    return Layer(BUFFER, {"observations": observation_space, "actions": action_space})


def sampled(receiver: Value, batch_size: Value) -> Result:
    """(batch, …) of observations, (batch, actions), (batch, 1) of rewards and of ends"""
    config = receiver.config if isinstance(receiver, Layer) else {}
    batch = Axis(size_or_any(batch_size))
    seen = observed(batch, config.get("observations", UNKNOWN))
    column = Shape((batch, Axis(ONE, maker=Maker.GATHER)))
    chosen = Shape((batch, Axis(action_width(config.get("actions", UNKNOWN)))))
    parts = ((seen, None), (chosen, None), (seen, None), (column, "float32"), (column, "float32"))
    return Tuple(
        tuple(Tensor(shape, dtype, "torch", CONSTANT) for shape, dtype in parts), "ReplayBufferSamples", FIELDS
    )


def observed(batch: Axis, space: Value) -> Shape:
    """An array per sample; a choice is kept as an array of one."""
    match space:
        case Layer(config={"element": Tensor(shape=shape)}) if shape.axes:
            return prepend(batch, shape)
        case Layer(config={"shape": Tuple(items=items)}) if items:
            return Shape((batch, *(Axis(size_or_any(item)) for item in items)))
        case Layer(config={"n": Int()}):
            return Shape((batch, Axis(ONE)))
    return unknown_shape()


def action_width(space: Value) -> Dim:
    match space:
        case Layer(name=name) if name == DISCRETE:
            return ONE
        case Layer(config={"shape": Tuple(items=items)}):
            return product(map(size_or_any, items))
    return anonymous(object(), "actions")


ARGUMENTS = (
    "buffer_size, observation_space, action_space, device, n_envs, optimize_memory_usage, handle_timeout_termination, "
    "n_steps, gamma"
)
plain = partial(Op, dtype=unknown_dtype)
OPS: tuple[Op, ...] = (
    plain("replay_buffer", buffer, (f"{BUFFER}({ARGUMENTS})",)),
    plain("sample", sampled, (f"{BUFFER}.sample(batch_size, env)",)),
)
