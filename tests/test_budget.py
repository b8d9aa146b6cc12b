"""`shapelint budget` held against torch: parameters, bytes that are saved for the backward pass, and work."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from shapelint.__main__ import main
from shapelint.budget.evaluation import Given, Unclear, evaluate, tensor
from shapelint.budget.summary import Budget, draw_up

FILES = Path(__file__).parent / "budgets"
SMALL = {"layers": 2, "width": 64, "heads": 4, "vocab": 100, "context": 32}


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FILES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def saved_bytes(module: nn.Module, *inputs: torch.Tensor) -> int:
    """The bytes of all storages that autograd keeps, without parameters and buffers."""
    own = {t.untyped_storage().data_ptr() for t in (*module.parameters(), *module.buffers())}
    found: dict[int, int] = {}
    alive: list[Any] = []

    def pack(value: torch.Tensor) -> torch.Tensor:
        alive.append(value)  # so that no storage takes the place of another
        storage = value.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage.nbytes()
        return value

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        alive.append(module(*inputs))
    return sum(found.values())


def work(module: nn.Module, *inputs: torch.Tensor) -> int:
    """The counter of torch; it knows attention on a CPU only where it is written out."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(*inputs)
    return int(counter.get_total_flops())


def kept(budget: Budget) -> int:
    return next(p.activations for p in budget.piles if p.precision == "float32" and p.purpose == "training")


MODULES: dict[str, tuple[dict[str, int], dict[str, tuple[int, ...]]]] = {
    "Perceptron": ({"inputs": 13, "hidden": 32, "classes": 5}, {"x": (7, 13)}),
    "Gated": ({"width": 16}, {"x": (3, 5, 16)}),
    "Normed": ({"width": 12}, {"x": (4, 12)}),
    "Picture": ({"channels": 3, "classes": 4}, {"x": (2, 3, 16, 16)}),
    "Upscaler": ({"channels": 4}, {"x": (2, 4, 8, 8)}),
    "Heads": ({"width": 24, "heads": 3}, {"x": (2, 7, 24)}),
    "Scores": ({"width": 8}, {"x": (2, 5, 8)}),
    "Dropped": ({"width": 10}, {"x": (6, 10)}),
    "Shared": ({"width": 9}, {"x": (3, 9)}),
}


@pytest.mark.parametrize("name", MODULES)
def test_against_torch(name: str) -> None:
    sizes, inputs = MODULES[name]
    given = Given(sizes, {key: tensor(shape, "float32") for key, shape in inputs.items()})
    budget = draw_up(str(FILES / "small.py"), name, given, 150.0)
    module = getattr(loaded("small"), name)(**sizes)
    values = [torch.randn(shape) for shape in inputs.values()]
    assert budget.parameters == sum(p.numel() for p in module.parameters())
    assert kept(budget) == saved_bytes(module, *values)
    assert budget.intensities[0].flops == work(module, *values)
    assert not [text for text in budget.left_out if text.startswith(("parameters of", "calls that"))]


def test_parameters_of_transformer_layers_and_of_what_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    given = Given({"width": 24}, {"x": tensor((2, 5, 24), "float32")})
    budget = draw_up(str(FILES / "small.py"), "Stacked", given, 150.0)
    module = loaded("small").Stacked(24)
    assert budget.parameters == sum(p.numel() for p in module.parameters())
    assert budget.knows_all_parameters
    file = FILES / "small.py"
    assert main(["budget", f"{file}:Unknown", "--size", "width=8", "--input", "x=2,8"]) == 0
    assert "at least 72 parameters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("Encoded", (2, 5, 24), (2, 7, 24)),
        ("Translated", (5, 2, 24), (7, 2, 24)),
        ("Attending", (2, 5, 24), (2, 7, 24)),
        ("Attending", (5, 24), (7, 24)),
    ],
)
def test_parameters_and_work_of_transformers(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    given = Given({"width": 24}, {"x": tensor(x, "float32"), "y": tensor(y, "float32")})
    budget = draw_up(str(FILES / "small.py"), name, given, 150.0)
    module = getattr(loaded("small"), name)(24)
    assert budget.parameters == sum(p.numel() for p in module.parameters())
    assert budget.knows_all_parameters
    assert budget.intensities[0].flops == work(module, torch.randn(x), torch.randn(y))
    assert not [text for text in budget.left_out if text.startswith(("parameters of", "the work of"))]


@pytest.mark.parametrize("has_loss", [False, True])
def test_decoder_against_torch(has_loss: bool) -> None:
    tokens = torch.zeros(2, 16, dtype=torch.long)
    given = Given(SMALL, {"targets": tensor((2, 16), "int64")} if has_loss else {}, 2, 16)
    budget = draw_up(str(FILES / "decoder.py"), None, given, 150.0)
    decoder = loaded("decoder")
    module = decoder.Decoder(decoder.Sizes(**SMALL))
    inputs = [tokens, tokens.clone()] if has_loss else [tokens]
    assert budget.parameters == sum(p.numel() for p in module.parameters())
    assert kept(budget) == saved_bytes(module, *inputs)
    assert budget.intensities[0].flops == work(module, *inputs)


def test_gpt2_has_124_million_parameters() -> None:
    budget = draw_up(str(FILES / "decoder.py"), "Decoder", Given({}, {}, 1, 64), 150.0)
    with torch.device("meta"):
        decoder = loaded("decoder")
        module = decoder.Decoder(decoder.Sizes())
    assert budget.parameters == sum(p.numel() for p in module.parameters()) == 124_439_808


def test_sixteen_bytes_a_parameter() -> None:
    sizes = {"layers": 48, "heads": 25, "width": 1600}
    budget = draw_up(str(FILES / "decoder.py"), None, Given(sizes, {}, 1, 8), 150.0)
    adam = next(p for p in budget.piles if (p.precision, p.optimizer) == ("mixed", "Adam"))
    states = adam.weights + adam.gradients + adam.optimizer_state
    assert budget.parameters == 1_557_611_200
    assert states == 16 * budget.parameters
    assert 24e9 < states < 25e9


def test_matrix_vector_products_are_memory_bound() -> None:
    budget = draw_up(str(FILES / "small.py"), "Square", Given({"n": 4096}, {"x": tensor((8, 4096), "float32")}), 150.0)
    whole, single = budget.intensities
    assert whole.flops == 268_435_456
    assert whole.flops_per_byte == pytest.approx(7.97, abs=0.01)
    assert single.flops_per_byte == pytest.approx(0.9995, abs=1e-4)
    assert single.bound == "memory"
    assert [b.bound for b in draw_up(str(FILES / "small.py"), "Square", Given({"n": 4096}, {
        "x": tensor((2048, 4096), "float32")}), 150.0).intensities] == ["compute", "memory"]  # fmt: skip


def test_input_is_inferred_from_its_first_use() -> None:
    evaluated = evaluate(str(FILES / "small.py"), "Gated", Given({"width": 16}, {}, 3, 5))
    assert str(evaluated.inputs["x"]) == "(3, 5, 16)"
    evaluated = evaluate(str(FILES / "decoder.py"), None, Given(SMALL, {}, 2, 16))
    assert [(str(v), v.dtype) for v in evaluated.inputs.values() if hasattr(v, "dtype")] == [("(2, 16)", "int64")]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(Unclear, match="give --input x="):
        evaluate(str(FILES / "small.py"), "Picture", Given({"channels": 3, "classes": 4}, {}))
    with pytest.raises(Unclear, match="give --size"):
        evaluate(str(FILES / "small.py"), "Perceptron", Given({}, {}))
    with pytest.raises(Unclear, match=r"no nn\.Module Nothing"):
        evaluate(str(FILES / "small.py"), "Nothing", Given({}, {}))


def test_left_out_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{FILES / 'small.py'}:Recurrent"
    assert main(["budget", target, "--size", "width=8", "--input", "x=2,5,8"]) == 0
    text = capsys.readouterr().out
    assert "the work of rnn" in text
    assert "what is kept for the backward pass of rnn" in text
    assert "1,056 parameters" in text


@pytest.mark.parametrize("output_format", ["text", "json", "html"])
def test_command(output_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [f"{name}={size}" for name, size in SMALL.items()]
    arguments = ["budget", str(FILES / "decoder.py"), "--size", *sizes, "--batch", "2", "--seq", "16"]
    assert main([*arguments, "--output-format", output_format]) == 0
    text = capsys.readouterr().out
    match output_format:
        case "text":
            assert "training mixed Adam" in text
            assert "Not counted" in text
        case "json":
            data = json.loads(text)
            assert data["parameters"] == 108_544
            assert {pile["total"] for pile in data["piles"]} != {0}
            assert data["intensities"][0]["bound"] in {"memory", "compute"}
        case _:
            assert text.startswith("<!doctype html>")
            assert "<script" not in text


def test_errors_leave_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", str(FILES / "absent.py")]) == 2
    assert main(["budget", f"{FILES / 'small.py'}:Perceptron"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert all(line.startswith("shapelint: ") for line in errors)
