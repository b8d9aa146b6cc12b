"""gym and gymnasium: environments that are named by a literal have observations and actions of known shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from shapelint.domain.dims import anonymous, as_dim, data_dependent
from shapelint.domain.values import (
    EITHER,
    UNKNOWN,
    Axis,
    Const,
    Dict,
    Float,
    Int,
    Layer,
    Shape,
    Tensor,
    Tuple,
    Union,
    Value,
    number,
    shape_of,
)
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.layer_axes import unknown_axis
from shapelint.ops.op import Op, Result, Unknowable, prepend
from shapelint.ops.results import CONSTANT

LIBRARIES = ("gymnasium", "gym")
DISCRETE, BOX = "gymnasium.spaces.Discrete", "gymnasium.spaces.Box"
SPACE = "gymnasium.spaces.Space"  # of a kind that is not known
STEPS = (4, 5)  # values that step gives: before gym 0.26 and since
Space = int | tuple[int | None, ...]  # so many choices, or the sizes of an array
# By name without version: observations and actions, in all versions; None where versions differ.
ENVIRONMENTS: Mapping[str, tuple[Space, Space]] = {
    "CartPole": ((4,), 2),
    "MountainCar": ((2,), 3),
    "MountainCarContinuous": ((2,), (1,)),
    "Acrobot": ((6,), 3),
    "Pendulum": ((3,), (1,)),
    "LunarLander": ((8,), 4),
    "LunarLanderContinuous": ((8,), (2,)),
    "BipedalWalker": ((24,), (4,)),
    "BipedalWalkerHardcore": ((24,), (4,)),
    "HalfCheetah": ((17,), (6,)),
    "Hopper": ((11,), (3,)),
    "Walker2d": ((17,), (6,)),
    "Swimmer": ((8,), (2,)),
    "InvertedPendulum": ((4,), (1,)),
    "Ant": ((None,), (8,)),
    "Humanoid": ((None,), (17,)),
    "FrozenLake": (16, 4),
    "CliffWalking": (48, 4),
    "Taxi": (500, 6),
}
NAME = re.compile(r"(\w+)-v\d+")


# Options of make that leave the spaces as they are; others make another lake, or other actions.
HARMLESS = frozenset({"render_mode", "max_episode_steps", "disable_env_checker", "autoreset", "new_step_api"})


def made(name: Value, library: str, **options: Value) -> Result:
    """make("CartPole-v1")"""
    found = NAME.fullmatch(name.value) if isinstance(name, Const) and isinstance(name.value, str) else None
    if found is None or found[1] not in ENVIRONMENTS or options.keys() - HARMLESS:
        raise Unknowable("an environment that is not known")
    observations, actions = ENVIRONMENTS[found[1]]
    return Layer(f"{library}.Env", {"observation_space": _space(observations), "action_space": _space(actions)})


def _space(space: Space) -> Layer:
    if isinstance(space, int):
        return Layer(DISCRETE, {"n": Int(as_dim(space))})
    sizes = tuple(Int(anonymous(object()) if size is None else as_dim(size)) for size in space)
    return Layer(BOX, {"shape": Tuple(sizes)})


def wrapped(env: Value) -> Result:
    """Wrappers that count, record or scale: the same spaces."""
    if isinstance(env, Layer) and is_environment(env):
        return Layer(env.name, env.config)
    raise Unknowable("an environment that is not known")


def is_environment(layer: Layer) -> bool:
    return layer.name.endswith((".Env", ".VectorEnv"))


def elements(env: Layer) -> Iterator[Value]:
    """What is known of the elements of those spaces of an environment of which its name says nothing."""
    if is_environment(env):
        for space in env.config.values():
            if isinstance(space, Layer) and "element" in space.config:
                yield space.config["element"]


def attribute(layer: Layer, name: str) -> Value | None:
    """`env.observation_space`, `env.action_space.n`, `env.observation_space.shape`; None for methods."""
    if name == "unwrapped":
        return layer
    if name in {"high", "low"} and layer.name.endswith(".Box"):
        return drawn(layer)
    return layer.config.get(name)


def drawn(space: Value) -> Value:
    """An element of a space: a choice, or an array."""
    match space:
        case Layer(name="gymnasium.spaces.Box", config={"element": Tensor() as element}):
            return element
        case Layer(config={"shape": Tuple(items=items)}):
            sizes = (item.dim for item in items if isinstance(item, Int))
            return Tensor(
                shape_of(*sizes), "float32" if space.name.startswith("gymnasium") else None, "numpy", CONSTANT
            )
        case Layer(config={"n": Int()}):
            return Int(data_dependent(object(), "choice"))
    return UNKNOWN


def sampled(receiver: Value) -> Result:
    """space.sample()"""
    return drawn(receiver)


def _observed(env: Value, library: str) -> Value:
    found = drawn(env.config.get("observation_space", UNKNOWN)) if isinstance(env, Layer) else UNKNOWN
    if isinstance(found, Tensor) and library == "gym":
        return Tensor(found.shape, None, "numpy", CONSTANT)  # float64 in some versions
    if found == UNKNOWN and library == "gym":
        raise Unknowable("whether it is an observation or a pair")
    return found


def _all_observed(env: Value, number: Axis) -> Value:
    found = drawn(env.config.get("single_observation_space", UNKNOWN)) if isinstance(env, Layer) else UNKNOWN
    return Tensor(prepend(number, found.shape), None, "numpy", CONSTANT) if isinstance(found, Tensor) else UNKNOWN


def _number(env: Value) -> Axis:
    count = env.config.get("num_envs") if isinstance(env, Layer) else None
    return Axis(count.dim) if isinstance(count, Int) else unknown_axis()


def _of_generation(env: Value, before: Value, since: Value) -> Value:
    """What gym gave before 0.26 or gives since: one of both, unless the program shows which."""
    count = number(env.config.get("step")) if isinstance(env, Layer) else None
    return Union((before, since)) if count not in STEPS else before if count == STEPS[0] else since


def reset_all(receiver: Value, library: str) -> Result:
    """The first observations of all environments; a pair as for one."""
    observations = _all_observed(receiver, _number(receiver))
    pair = Tuple((observations, Dict((), UNKNOWN)))
    if library == "gymnasium":
        return pair
    return _of_generation(receiver, observations, pair) if isinstance(observations, Tensor) else UNKNOWN


def step_all(receiver: Value, library: str) -> Result:
    """Observations, rewards, and which of them are over."""
    number = _number(receiver)
    reward, over = (Tensor(Shape((number,)), dtype, "numpy", CONSTANT) for dtype in ("float64", "bool"))
    observations = _all_observed(receiver, number)
    five = Tuple((observations, reward, over, over, Dict((), UNKNOWN)))
    four = Tuple((observations, reward, over, Dict((), UNKNOWN)))
    return five if library == "gymnasium" else _of_generation(receiver, four, five)


def reset(receiver: Value, library: str) -> Result:
    """The first observation; a pair with a dict in gymnasium, and in gym since 0.26."""
    observation = _observed(receiver, library)
    pair = Tuple((observation, Dict((), UNKNOWN)))
    return pair if library == "gymnasium" else _of_generation(receiver, observation, pair)


def step(receiver: Value, library: str) -> Result:
    """Observation, reward, and whether it is over: one bool in gym before 0.26, two since."""
    observation, reward = _observed(receiver, library), Float(graph=CONSTANT)
    five = Tuple((observation, reward, EITHER, EITHER, Dict((), UNKNOWN)))
    four = Tuple((observation, reward, EITHER, Dict((), UNKNOWN)))
    return five if library == "gymnasium" else _of_generation(receiver, four, five)


WRAPPERS = (
    *("TimeLimit", "RecordEpisodeStatistics", "RecordVideo", "Monitor", "ClipAction", "NormalizeObservation"),
    *("NormalizeReward", "TransformReward", "OrderEnforcing"),
)
plain = partial(Op, dtype=unknown_dtype)


def of_library(library: str) -> tuple[Op, ...]:
    return (
        plain("environment", partial(made, library=library), (f"{library}.make(id: name)",)),
        plain("environment", wrapped, tuple(f"{library}.wrappers.{name}(env, *options)" for name in WRAPPERS)),
        plain("reset", partial(reset, library=library), (f"{library}.Env.reset()",)),
        plain("step", partial(step, library=library), (f"{library}.Env.step(action)",)),
        plain("reset", partial(reset_all, library=library), (f"{library}.VectorEnv.reset()",)),
        plain("step", partial(step_all, library=library), (f"{library}.VectorEnv.step(action)",)),
    )


SPACES = (BOX, DISCRETE)
OPS: tuple[Op, ...] = (
    *(op for library in LIBRARIES for op in of_library(library)),
    plain("sample", sampled, tuple(f"{space}.sample()" for space in SPACES)),
)
