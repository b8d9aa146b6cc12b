"""Environments of gym whose name says nothing: what a program asks of their spaces tells what these are.

`env.observation_space.shape[0]` says that observations are arrays with an axis, `env.action_space.n` that an action is
a number. Until then it may as well be a dict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import libcst as cst

from shapelint.domain.dims import anonymous, as_dim
from shapelint.domain.values import Int, Layer, Run, Shape, Tensor, Unknown, Value
from shapelint.events import Input
from shapelint.interpreter import attributes
from shapelint.interpreter.flow.comprehensions import length
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions.stores import statements
from shapelint.interpreter.knowledge import learning
from shapelint.interpreter.numbers import Builtin
from shapelint.interpreter.operations import Arguments, operate
from shapelint.ops import environments

SINGLE, VECTOR = ("observation_space", "action_space"), ("single_observation_space", "single_action_space")


def some(frame: Frame, node: cst.CSTNode, names: tuple[str, ...]) -> dict[str, Value]:
    """Spaces of which nothing is known yet; their elements have axes of their own."""
    return {name: Layer(environments.SPACE, {"element": _element(frame, node, name)}) for name in names}


def _element(frame: Frame, node: cst.CSTNode, name: str) -> Tensor:
    event = Input(name, frame.site(node), kind="space")
    if frame.foretold:
        frame.recall(event)
    return Tensor(Shape((), Run("", event)), None, "numpy", made_by=event)


def made(library: str) -> Builtin:
    def make(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
        known = operate(frame, f"{library}.make", arguments, node)
        if known is None or isinstance(known, Unknown):
            return Layer(f"{library}.Env", some(frame, node, SINGLE))
        return known

    return make


def several(library: str) -> Builtin:
    def make(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
        """gym.vector.SyncVectorEnv([...]), gym.make_vec(name, num_envs): so many at once."""
        count = arguments.kwargs.get("num_envs", arguments.args[-1] if arguments.args else None)
        size = count.dim if isinstance(count, Int | Unknown) else length(count) if count is not None else None
        number = Int(size if size is not None else anonymous(frame.place(node), "num_envs"))
        return Layer(f"{library}.VectorEnv", {"num_envs": number, **some(frame, node, VECTOR)})

    return make


def settled(frame: Frame, env: Layer) -> Layer:
    """The environment with what its spaces are known to be by now, and how many values its step gives."""
    lengths = step_lengths(frame.module) if env.name.startswith("gym.") else frozenset()
    is_open = any(isinstance(space, Layer) and space.name == environments.SPACE for space in env.config.values())
    if not is_open and len(lengths) != 1:
        return env
    config = {name: _settled(frame, value) for name, value in env.config.items()} if is_open else dict(env.config)
    if len(lengths) == 1:
        config["step"] = Int(as_dim(*lengths))
    return Layer(env.name, config)


@lru_cache(maxsize=64)
def step_lengths(module: cst.Module) -> frozenset[int]:
    """Into how many values a file unpacks what `env.step(action)` gives: four before gym 0.26, five since."""
    assigned = (statement for statement in statements(module) if type(statement) is cst.Assign)
    return frozenset(count for statement in assigned for count in unpacked_steps(statement))


def unpacked_steps(statement: cst.CSTNode) -> Iterator[int]:
    match statement:
        case cst.Assign(
            targets=(cst.AssignTarget(target=cst.Tuple(elements=elements)),),
            value=cst.Call(func=cst.Attribute(attr=cst.Name(value="step"))),
        ) if len(elements) in environments.STEPS:
            yield len(elements)


def _settled(frame: Frame, space: Value) -> Value:
    match space:
        case Layer(name=environments.SPACE, config={"element": before}):
            known = element(frame, space)
            return Layer(environments.BOX, {"element": known}) if known != before else space
    return space


def attribute(frame: Frame, space: Layer, name: str) -> Value | None:
    """`space.n`, `space.shape`, `space.high`: who asks for them knows what kind of space it is."""
    known = element(frame, space)
    match name, known.shape:
        case "n", Shape(head=(), tail=(), run=run):
            if run is not None:
                learning.learn(frame, run, Shape())
            return Int(anonymous(("choices", space.config["element"]), "n"))
        case "shape", _:
            return attributes.shape_value(known)
        case "high" | "low", _:
            return known
    return None


def element(frame: Frame, space: Layer) -> Tensor:
    """What an element of the space is like by now, an array."""
    known = frame.known(space.config["element"])
    assert isinstance(known, Tensor)
    return known


TABLE: Mapping[str, Builtin] = {
    **{f"{library}.make": made(library) for library in environments.LIBRARIES},
    **{
        f"{library}.{name}": several(library)
        for library in environments.LIBRARIES
        for name in ("vector.SyncVectorEnv", "vector.AsyncVectorEnv", "vector.make", "make_vec")
    },
}
