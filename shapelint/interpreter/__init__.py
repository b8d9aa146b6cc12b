"""From a syntax tree to events: the code is executed on abstract values, each function also on its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import libcst as cst

from shapelint.domain.values import Class, Dict, Function, Instance, Method, Tuple, Value
from shapelint.events import Event
from shapelint.interpreter import expressions  # noqa: F401 - rooms import one another; expressions first
from shapelint.interpreter.flow import rebinding
from shapelint.interpreter.flow.comprehensions import item
from shapelint.interpreter.frame import LATER_CREDIT, SMALL_CREDIT, Analysis, Frame, Project, Watch, root_scope
from shapelint.interpreter.functions import stores
from shapelint.interpreter.functions.bodies import evaluate_alone
from shapelint.interpreter.functions.classes import is_module, typical_instance
from shapelint.interpreter.functions.invocation import call_method
from shapelint.interpreter.knowledge import hypotheses
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import Scope
from shapelint.interpreter.statements import execute_all

__all__ = ["Project", "interpret"]

FEW_STATEMENTS = 150


def interpret(
    module: cst.Module, filename: str, project: Project | None = None, watch: Watch | None = None
) -> list[Event]:
    """What happens in a file, in execution order.

    The top level is executed first, then every function on its own, in the order of definition, with what
    its annotations say of the parameters. Any syntax that libcst parses gives at worst unknown values.
    `watch` hears of every binding.
    """
    run = Analysis(module, filename, project, watch=watch)
    scope = Scope({}, root_scope())
    scope.origin = (module, filename)
    top = Frame(run, scope, module, filename, filename)
    execute_all(top, module.body)
    run.credit = SMALL_CREDIT if is_small(module) else min(run.credit, LATER_CREDIT)
    position = 0
    while position < len(run.pending):
        evaluate_pending(top, run.pending[position])
        position += 1
    return run.events


def is_small(module: cst.Module) -> bool:
    """Whether a file has a page or two: its calls cost little, whatever they are."""
    return sum(1 for _ in islice(stores.statements(module), FEW_STATEMENTS)) < FEW_STATEMENTS


def evaluate_pending(top: Frame, function: Function) -> None:
    if id(function) in top.run.entered:
        return
    if function.owner is not None:
        typical_instance(top, function.owner)  # what its __init__ casts, all methods find
    dtypes = dict(top.run.dtypes)
    hypotheses.attempt(top.run, function, lambda: evaluate_one(top, function))
    if top.run.dtypes != dtypes:  # what one function casts is not what another finds
        top.run.dtypes = dtypes
        top.run.memo.clear()


def evaluate_one(top: Frame, function: Function) -> None:
    owner = function.owner
    if owner is None:
        evaluate_alone(top, function, None)
        return
    instance = typical_instance(top, owner)
    if function.name not in {"__init__", "setup"}:
        is_static = not function.node.params.params or is_of_class(owner, function)
        before = dict(instance.attributes)  # what one method changes is not what another finds
        if is_static:
            evaluate_alone(top, function, None)
        else:
            evaluate_alone(top, function, instance, *batches(top, function, instance))
        instance.attributes = before | rebinding.left_by(top, function, instance, before)


# What a trainer of lightning passes to a step: a batch of the loader that the same class makes.
STEPS = {"training_step": "train_dataloader", "validation_step": "val_dataloader", "test_step": "test_dataloader"}


def batches(top: Frame, function: Function, instance: Instance) -> Iterator[Value]:
    loader = STEPS.get(function.name)
    if loader is not None and is_module(instance):
        batch = item(top, call_method(top, instance, loader, Arguments(), function.node), function.node)
        if isinstance(batch, Tuple | Dict):
            yield batch


def is_of_class(owner: Class, function: Function) -> bool:
    """Whether a method is not given its object; what an unknown decorator makes of it is."""
    match owner.lookup(function.name):
        case Method(name="staticmethod" | "classmethod"):
            return True
        case Function() as found:
            return found is not function and found.scope is function.scope
    return False
