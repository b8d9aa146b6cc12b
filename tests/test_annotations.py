"""The jaxtyping dialect, held against jaxtyping itself, and type hints as values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jaxtyping import Float, jaxtyped

from shapelint.annotations.entering import value_of
from shapelint.annotations.hints import (
    ANY,
    ArrayHint,
    DictHint,
    ForwardHint,
    InstanceHint,
    NoneHint,
    ScalarHint,
    SequenceHint,
    TupleHint,
    TypeHint,
    UnionHint,
    as_hint,
    subscript_hint,
    union_hint,
)
from shapelint.annotations.patterns import AnnotationError, parse, to_shape
from shapelint.annotations.unification import UNBOUND, Bindings, Verdict, all_of, meets, unify
from shapelint.domain.dims import Dim, as_dim, axis, size
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dict,
    Hint,
    Int,
    Library,
    Maker,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    shape_of,
)
from shapelint.domain.values import (
    Float as FloatValue,
)

STRINGS = [
    *("", " ", "n", " n", "b n ", "batch seq_len d_model", "B T C", "  b   n  ", "b\tn", "b\nn"),
    *("3", "0", "1 n", "n 1", "1 H W 1", "b 3 224 224", "3 3", "n n", "b m m", "b n n dpt"),
    *("...", "... n", "n ...", "n ... m", "... 3 3", "b ... 10", "... n n"),
    *("*b", "*batch n", "n *batch", "*batch n d", "n *batch d", "*dims 1", "*b l d_head", "batch *grid 2"),
    *("_", "_ n", "b _ _ _", "_n", "b _unused d", "*_", "*_rest n"),
    *(
        "#n",
        "#b n",
        "... #m #n",
        "*#b n",
        "#*b n",
        "*#b #h #q #k",
        "*b #heads q",
        "#3",
        "?n",
        "?*shape",
        "?#*shape",
        "*",
    ),
    *("rgb=3", "b h w rgb=3", "*batch xyz=3", "height=_ width=_", "frame endpoint=2 xyz=3", "n=m", "b="),
    *("n+1", "n n-1", "b dim+1 dim+1", "2*d", "b 2*times-1", "*batch size+1", "b h//2 w//2", "*b h//16 w//16 512"),
    *("(h//2)", "b nw w (w*2)", "... (d//2)", "(a+b)", "batch*(frame-1) 3", "h*w", "n**2", "n%2 n", "n/2", "-n", "4-1"),
    *("min(a,b)", "max(n,2) n", "{n}", "b {self.dim}", "b {self.w} {self.w*2}", "{n//2+1}", "{self.a}*{self.b}"),
    *("BLL num_rbf*4*4", "num_tokens_per_image+4", "n - 1", "2 * n", "1x", "b-> n", "-1", "1_000", "été", "class"),
]
MALFORMED = [
    *("b, n", "b,n", "*a *b", "... ...", "... *b", "*b n ...", "#_", "_#", "#_n", "n#", "##n", "**n", "__", "__n"),
    *("??n", "*4", "_4", "?4", "*n+1", "_n+1", "?n+1", "...n", "n... m", "*...", "#...", "*rgb=3"),
]
SIZES = st.integers(1, 3)
NAMES = st.sampled_from(["a", "b", "n"])
FORMULAS = ["a+1", "2*n", "n-1", "(b//2)", "a*b", "n%2", "a+b-n", "max(a,b)", "min(a,n)", "n**2", "a//(b-1)", "a-"]
AXES = st.one_of(
    NAMES,
    NAMES,
    SIZES.map(str),
    NAMES.map("#{}".format),
    NAMES.map("_{}".format),
    st.sampled_from(["_", "#2", "rows=3", "k=a", "#k=a", "w=_", *FORMULAS, "#a+1"]),
)
VARIADICS = st.sampled_from(["...", "*b", "*b", "*#b", "*#b", "#*c", "*c", "*_"])


@st.composite
def arguments(draw: st.DrawFn) -> list[tuple[str, tuple[int, ...]]]:
    """Arguments of one call, more often than not of the rank and the sizes that their annotation asks for."""
    sizes = draw(st.fixed_dictionaries(dict.fromkeys("abn", SIZES)))
    return [draw(argument(sizes)) for _ in range(draw(st.integers(1, 4)))]


@st.composite
def argument(draw: st.DrawFn, sizes: dict[str, int]) -> tuple[str, tuple[int, ...]]:
    axes = draw(st.lists(AXES, max_size=3))
    shape = [draw(st.just(sizes.get(axis.strip("#"), 2)) | SIZES) for axis in axes]
    if draw(st.booleans()):
        place = draw(st.integers(0, len(axes)))
        axes.insert(place, draw(VARIADICS))
        shape[place:place] = draw(st.just([sizes["b"], sizes["n"]]) | st.lists(SIZES, max_size=3))
    elif draw(st.integers(0, 9)) == 0:
        shape = draw(st.lists(SIZES, max_size=4))
    return draw(st.sampled_from(["", " "])) + " ".join(axes), tuple(shape)


def accepted(text: str, shape: tuple[int, ...]) -> bool | None:
    """What jaxtyping says of an array in the current context; None where the check itself fails."""
    annotation = Float[np.ndarray, text]
    try:
        return isinstance(np.broadcast_to(np.float32(0), shape), annotation)
    except Exception:
        return None


MEANING = {Verdict.SATISFIED: True, Verdict.CONTRADICTED: False, Verdict.UNDECIDED: None}


@settings(derandomize=True, max_examples=800, deadline=None)
@given(arguments())
def test_unify_accepts_what_jaxtyping_accepts(call: list[tuple[str, tuple[int, ...]]]) -> None:
    bindings = UNBOUND
    with jaxtyped("context"):
        for text, shape in call:
            expected = accepted(text, shape)
            match = unify(parse(text), shape_of(*shape), bindings)
            assert bool(match.reason) == (match.verdict is Verdict.CONTRADICTED)
            if expected is None:
                assert match.verdict is not Verdict.SATISFIED
                break
            assert MEANING[match.verdict] is expected, (text, shape, bindings, match.reason)
            bindings = match.bindings


@settings(derandomize=True, max_examples=300, deadline=None)
@given(arguments(), st.dictionaries(SIZES, st.sampled_from("pqr").map(size), min_size=1))
def test_unify_of_symbols_holds_for_every_size(
    call: list[tuple[str, tuple[int, ...]]], unknown: dict[int, Dim]
) -> None:
    """What is decided although some sizes are unknown is what jaxtyping says once they are known."""
    assume(len(set(unknown.values())) == len(unknown))
    bindings = UNBOUND
    verdicts: list[Verdict] = []
    with jaxtyped("context"):
        for text, shape in call:
            expected = accepted(text, shape)
            match = unify(parse(text), shape_of(*(unknown.get(s, s) for s in shape)), bindings)
            verdicts.append(match.verdict)
            if expected is None:
                break
            if match.verdict is Verdict.CONTRADICTED or all_of(verdicts) is Verdict.SATISFIED:
                assert MEANING[match.verdict] is expected, (text, shape, bindings)
            if not expected:
                break
            bindings = match.bindings


@settings(derandomize=True, max_examples=1000)
@given(st.lists(st.text("#*_?=n4+.,( {", max_size=5), max_size=3).map(" ".join))
def test_parse_refuses_what_jaxtyping_refuses(text: str) -> None:
    assert builds(text) == parses(text), text


@pytest.mark.parametrize("text", STRINGS)
def test_dialect(text: str) -> None:
    assert builds(text)
    pattern = parse(text)
    assert unify(pattern, to_shape(pattern, "f")).verdict is not Verdict.CONTRADICTED
    assert unify(pattern, shape_of(*[axis("q", "f")] * 9)).bindings.sizes.keys() <= set(pattern.names)


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed(text: str) -> None:
    assert not builds(text)
    with pytest.raises(AnnotationError, match=r"\S"):
        parse(text)


def builds(text: str) -> bool:
    try:
        Float[np.ndarray, text]
    except ValueError:
        return False
    return True


def parses(text: str) -> bool:
    try:
        parse(text)
    except AnnotationError:
        return False
    return True


def named(*names: str) -> Shape:
    return shape_of(*(axis(name, "f") for name in names))


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("b n", "(b, n)"),
        ("", "()"),
        (" 3 rgb=3 1", "(3, 3, 1)"),
        ("*batch n", "(*batch, n)"),
        ("... 2*d-1", "(..., 2*d - 1)"),
        ("h//2 (w*2)", "(h // 2, 2*w)"),
        ("*#b #n _ ?k", "(*#b, #n, _, ?k)"),
        ("{self.dim} 2*{d}", "(self.dim, 2*d)"),
        ("min(a,b) 1x", "(min(a, b), 1x)"),
    ],
)
def test_entry_shape(text: str, spelled: str) -> None:
    assert str(to_shape(parse(text), "f")) == spelled


def test_entry_shapes_of_one_function_share_names() -> None:
    x, y = to_shape(parse("*b n _ #n"), "f", "x"), to_shape(parse("*b n _ #n"), "f", "y")
    assert x.run == y.run == Run("b", "f")
    assert x.tail[0] == y.tail[0] != to_shape(parse("*b n _ #n"), "g", "x").tail[0]
    assert x.tail[1] != y.tail[1]  # `_` is any size each time
    assert x.tail[2] != y.tail[2]  # one may be 1, the other n
    assert to_shape(parse("... n"), "f", "x").run != to_shape(parse("... n"), "f", "y").run
    assert to_shape(parse("*#b n"), "f", "x").run != to_shape(parse("*#b n"), "f", "y").run


def test_entry_makers_and_sizes() -> None:
    shape = to_shape(parse("1 2 {d} n+1"), "f")
    assert [a.maker for a in shape.head] == [Maker.ANNOTATION, None, None, None]
    assert shape.sizes == (as_dim(1), as_dim(2), size("d", "f"), axis("n", "f") + 1)


def bound(*texts: str) -> Bindings:
    """What the parameters of these annotations bind in their own function."""
    bindings = UNBOUND
    for text in texts:
        match = unify(parse(text), to_shape(parse(text), "f", text), bindings)
        assert match.verdict is not Verdict.CONTRADICTED
        bindings = match.bindings
    return bindings


@pytest.mark.parametrize(
    ("parameters", "returned", "shape", "reason"),
    [
        (["b t v"], "b v t", named("b", "t", "v"), "its axis 1 is t, the annotation says v"),
        (["b t"], "b", named("b", "t"), 'it has 2 axes, "b" has 1'),
        (["b t"], "b t c", shape_of(3), 'it has 1 axis, "b t c" has 3'),
        (["b t"], "b ... t", shape_of(3), 'it has 1 axis, "b ... t" has at least 2'),
        (["b t"], "b t+1", named("b", "t"), "its axis 1 is t, the annotation says t+1"),
        (["n"], "3", shape_of(4), "its axis 0 is 4, the annotation says 3"),
        (
            ["*b n"],
            "*b n",
            Shape((), Run("b", "f"), named("n", "n").head),
            "its axes *b are (*b, n), the annotation says *b",
        ),
        (
            ["*b n", "*c n"],
            "*b n",
            Shape((), Run("c", "f"), named("n").head),
            "its axes *b are (*c,), the annotation says *b",
        ),
        (["b n"], "_ n", Shape((), Run(), named("b").head), "its axis -1 is b, the annotation says n"),
        (["b n"], "n", Shape(named("b", "n").head, Run()), 'it has at least 2 axes, "n" has 1'),
    ],
)
def test_contradiction(parameters: list[str], returned: str, shape: Shape, reason: str) -> None:
    match = unify(parse(returned), shape, bound(*parameters))
    assert (match.verdict, match.reason) == (Verdict.CONTRADICTED, reason)


@pytest.mark.parametrize(
    ("parameters", "returned", "shape"),
    [
        (["b t"], "b t", named("b", "t")),
        (["b t"], "t b new", named("t", "b", "z")),
        (["b t"], "b 2*t", shape_of(axis("b", "f"), axis("t", "f") + axis("t", "f"))),
        (["*b n"], "*b", Shape((), Run("b", "f"))),
        (["*b n"], "n *b", Shape(named("n").head, Run("b", "f"))),
        (["*b n"], "...", Shape((), Run())),
        (["*b n"], "*b _ 1", Shape((), Run("b", "f"), shape_of(7, 1).head)),
        (["b {d}"], "{d} 2*{d}", shape_of(size("d", "f"), 2 * size("d", "f"))),
    ],
)
def test_satisfied(parameters: list[str], returned: str, shape: Shape) -> None:
    assert unify(parse(returned), shape, bound(*parameters)).verdict is Verdict.SATISFIED


@pytest.mark.parametrize(
    ("parameters", "returned", "shape"),
    [
        (["b t"], "b d d", shape_of(axis("b", "f"), size("d_model"), size("n_heads"))),
        (["b t"], "b t", Shape((), Run())),
        (["b t"], "b t", Shape((), Run(), named("t").head)),
        (["*b n"], "*b", Shape((), Run("b", "g"))),
        (["*b n"], "*b", shape_of(3)),
        (["*b n"], "*b n", Shape((), Run(), named("n").head)),
        (["n"], "n", shape_of(axis("n", "g"))),
        (["b t"], "#b #t", named("t", "b")),  # both may be 1
        (["b t"], "k+1", shape_of(5)),
        (["b t"], "1x", shape_of(5)),
    ],
)
def test_undecided(parameters: list[str], returned: str, shape: Shape) -> None:
    assert unify(parse(returned), shape, bound(*parameters)).verdict is Verdict.UNDECIDED


def test_a_call_binds_names_to_the_callers_sizes() -> None:
    match = unify(parse("*b n d"), Shape(named("p").head, Run("rest", "caller"), named("q").head))
    assert match.verdict is Verdict.UNDECIDED  # where n lies is not known
    match = unify(parse("*b d"), Shape(named("p").head, Run("rest", "caller"), named("q").head))
    assert match.bindings.sizes == {"d": axis("q", "f")}
    assert match.bindings.runs["b"].shape == Shape(named("p").head, Run("rest", "caller"))
    assert unify(parse("d d"), named("q", "q"), match.bindings).verdict is Verdict.SATISFIED
    contradicted = unify(parse("n d"), named("q", "p"), match.bindings)
    assert contradicted.verdict is Verdict.CONTRADICTED
    assert contradicted.bindings == match.bindings
    assert contradicted.reason == "its axis 1 is p, the annotation says d = q"


def test_an_unknown_run_is_not_even_equal_to_itself() -> None:
    unknown = Shape((), Run())
    assert unify(parse("*b"), unknown, unify(parse("*b"), unknown).bindings).verdict is Verdict.UNDECIDED


# Type hints.

TENSOR, NDARRAY = Library("torch.Tensor"), Library("numpy.ndarray")
INT, STR = Library("builtins.int"), Library("builtins.str")


def text(value: str) -> Const:
    return Const(value)


def float_of(*items: Value) -> Value:
    return subscript_hint(Library("jaxtyping.Float"), Tuple(items))


def sub(name: str, *items: Value) -> Value:
    return subscript_hint(Library(name), items[0] if len(items) == 1 else Tuple(items))


BN = ArrayHint("float", "b n", "torch")
MODEL = Class("Model", (), {})


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (float_of(TENSOR, text("b n")), BN),
        (sub("jaxtyping.Float32", NDARRAY, text("n")), ArrayHint("float32", "n", "numpy")),
        (sub("jaxtyping.BFloat16", Library("jax.Array"), text("")), ArrayHint("bfloat16", "", "jax")),
        (sub("jaxtyping.UInt8", Library("jaxtyping.Array"), text("h w")), ArrayHint("uint8", "h w", "jax")),
        (sub("jaxtyping.Shaped", Library("jaxtyping.ArrayLike"), text("n")), ArrayHint(None, "n")),
        (sub("jaxtyping.Float", UNKNOWN, text("n")), ArrayHint("float", "n")),
        (sub("jaxtyping.Float", TENSOR, Const(...)), ArrayHint("float", "...", "torch")),
        (sub("jaxtyping.Float", text("b n")), ArrayHint("float", "b n")),
        (float_of(float_of(TENSOR, text("b c")), text("a")), ArrayHint("float", "a b c", "torch")),
        (sub("jaxtyping.Num", sub("jaxtyping.Int32", TENSOR, text("n")), text("")), ArrayHint("int32", "n", "torch")),
        (
            sub("jaxtyping.Float16", sub("jaxtyping.Inexact", TENSOR, text("n")), text("b")),
            ArrayHint("float16", "b n", "torch"),
        ),
        (float_of(union_hint(TENSOR, NDARRAY), text("n")), ArrayHint("float", "n")),
        (
            float_of(union_hint(TENSOR, Library("builtins.float")), text("")),
            UnionHint((ArrayHint("float", "", "torch"), ScalarHint("float"))),
        ),
        (float_of(MODEL, text("b n")), InstanceHint(MODEL)),
        (subscript_hint(UNKNOWN, text("b n")), ArrayHint(None, "b n")),
        (subscript_hint(MODEL, text("*b 3 h")), ArrayHint(None, "*b 3 h")),
        (subscript_hint(UNKNOWN, Tuple((TENSOR, text("b n")))), ArrayHint(None, "b n", "torch")),
        (subscript_hint(float_of(UNKNOWN, text("b n")), TENSOR), BN),  # an alias with a type variable
        (subscript_hint(Hint(ArrayHint(library="torch")), text("b")), ArrayHint(None, "b", "torch")),
        (sub("typing.Annotated", float_of(TENSOR, text("b n")), text("what it is")), BN),
        (sub("typing.Optional", float_of(TENSOR, text("b n"))), UnionHint((BN, NoneHint()))),
        (
            sub("typing.Union", TENSOR, INT, Const(None)),
            UnionHint((ArrayHint(library="torch"), ScalarHint("int"), NoneHint())),
        ),
        (union_hint(union_hint(INT, Const(None)), INT), UnionHint((ScalarHint("int"), NoneHint()))),
        (sub("builtins.tuple", INT, float_of(TENSOR, text("b n"))), TupleHint((ScalarHint("int"), BN))),
        (sub("typing.Tuple", INT, Const(...)), SequenceHint(ScalarHint("int"), "tuple")),
        (sub("builtins.list", INT), SequenceHint(ScalarHint("int"), "list")),
        (sub("typing.Sequence", STR), SequenceHint(ScalarHint("str"), "sequence")),
        (sub("builtins.dict", STR, float_of(TENSOR, text("b n"))), DictHint(BN)),
        (sub("typing.Final", INT), ScalarHint("int")),
        (sub("numpy.typing.NDArray", Library("numpy.float32")), ArrayHint("float32", None, "numpy")),
        (sub("numpy.typing.NDArray", Library("numpy.bool_")), ArrayHint("bool", None, "numpy")),
        (sub("typing.Callable", Tuple((INT,), "list"), INT), ANY),
        (sub("typing.Literal", text("b n")), ANY),
        (TENSOR, ArrayHint(library="torch")),
        (Library("torch.LongTensor"), ArrayHint("int64", None, "torch")),
        (Const(None), NoneHint()),
        (MODEL, InstanceHint(MODEL)),
        (Library("jaxtyping.ArrayLike"), ANY),
        (text("Model"), ForwardHint("Model")),
    ],
)
def test_hint(value: Value, hint: TypeHint) -> None:
    assert as_hint(value) == hint


@pytest.mark.parametrize(
    "index", [text("Model"), text("list[int]"), Tuple((TENSOR, text("Node"))), Tuple((INT, INT)), INT]
)
def test_subscripts_that_are_no_shapes(index: Value) -> None:
    assert subscript_hint(MODEL, index) == UNKNOWN
    assert subscript_hint(UNKNOWN, index) == UNKNOWN


def test_a_dtype_class_of_the_project() -> None:
    own = Class("UInt8or16", (Library("jaxtyping.AbstractDtype"),), {})
    assert subscript_hint(own, Tuple((TENSOR, text("n")))) == Hint(ArrayHint(None, "n", "torch"))


def test_entry_values() -> None:
    assert value_of(BN, "f", "x") == Tensor(named("b", "n"), "float", "torch")
    assert value_of(ScalarHint("int"), "f", "n") == Int(size("n", "f"))
    assert value_of(ScalarHint("float"), "f") == FloatValue()
    assert value_of(ScalarHint("bool"), "f") == UNKNOWN
    assert value_of(NoneHint(), "f") == NONE
    assert value_of(UnionHint((BN, NoneHint())), "f") == Union((Tensor(named("b", "n"), "float", "torch"), NONE))
    assert value_of(UnionHint((BN, ANY)), "f") == Unknown()
    assert value_of(TupleHint((BN, ScalarHint("int"))), "f", "p") == Tuple((value_of(BN, "f"), Int(size("p[1]", "f"))))
    assert value_of(SequenceHint(BN), "f") == Many(value_of(BN, "f"))
    assert value_of(SequenceHint(TupleHint((ScalarHint("int"),))), "f", "p") == Many(Tuple((UNKNOWN,)))
    assert value_of(DictHint(BN), "f") == Dict(other=value_of(BN, "f"))
    assert value_of(InstanceHint(MODEL), "f") == UNKNOWN
    assert value_of(InstanceHint(MODEL), "f", instance=lambda cls: Const(cls.name)) == Const("Model")
    assert value_of(ArrayHint("float", "b, n"), "f") == Tensor(Shape((), Run("", ("f", ""))), "float")
    assert value_of(UnionHint((ArrayHint("float", "n", "torch"), ArrayHint("int", "n", "torch"))), "f") == Tensor(
        named("n"), None, "torch"
    )


def tensor(*names: str) -> Tensor:
    return Tensor(named(*names))


B = ArrayHint("float", "b")


@pytest.mark.parametrize(
    ("hint", "value", "verdict"),
    [
        (BN, tensor("b", "n"), Verdict.SATISFIED),
        (BN, tensor("n", "b"), Verdict.CONTRADICTED),
        (BN, UNKNOWN, Verdict.UNDECIDED),
        (BN, NONE, Verdict.UNDECIDED),
        (ArrayHint(), tensor("n"), Verdict.SATISFIED),
        (ArrayHint(None, "a, b"), tensor("n"), Verdict.UNDECIDED),
        (UnionHint((BN, NoneHint())), NONE, Verdict.SATISFIED),
        (UnionHint((BN, NoneHint())), tensor("n", "b"), Verdict.CONTRADICTED),
        (UnionHint((BN, ScalarHint("int"))), tensor("b"), Verdict.CONTRADICTED),
        (UnionHint((BN, ScalarHint("float"))), Tensor(shape_of()), Verdict.UNDECIDED),
        (UnionHint((BN, B)), tensor("b"), Verdict.SATISFIED),
        (UnionHint((BN, ANY)), tensor("b"), Verdict.UNDECIDED),
        (BN, Union((tensor("n", "b"), tensor("b"))), Verdict.CONTRADICTED),
        (BN, Union((tensor("b", "n"), tensor("b"))), Verdict.UNDECIDED),
        (TupleHint((BN, B)), Tuple((tensor("b", "n"), tensor("b"))), Verdict.SATISFIED),
        (TupleHint((BN, B)), Tuple((tensor("b", "n"), tensor("n"))), Verdict.CONTRADICTED),
        (TupleHint((BN, B)), Tuple((tensor("b", "n"), UNKNOWN)), Verdict.UNDECIDED),
        (TupleHint((BN, B)), Tuple((tensor("b", "n"),)), Verdict.CONTRADICTED),
        (TupleHint((B,)), Tuple((tensor("b"), tensor("b"))), Verdict.UNDECIDED),
        (SequenceHint(B), Tuple((tensor("b"), tensor("n")), "list"), Verdict.CONTRADICTED),
        (SequenceHint(B), Many(tensor("n")), Verdict.CONTRADICTED),
        (DictHint(B), Dict((("k", tensor("n")),)), Verdict.CONTRADICTED),
        (ScalarHint("int"), tensor("b"), Verdict.UNDECIDED),
    ],
)
def test_meets(hint: TypeHint, value: Value, verdict: Verdict) -> None:
    assert meets(hint, value, bound("b n")).verdict is verdict


def test_unions_bind_only_what_is_certain() -> None:
    either = UnionHint((ArrayHint("float", "n"), ArrayHint("int", "m")))
    assert meets(either, Tensor(shape_of(3))).bindings == UNBOUND
    ranks = UnionHint((ArrayHint(None, "n"), ArrayHint(None, "b n")))
    assert meets(ranks, Tensor(shape_of(2, 3))).bindings.sizes == {"b": as_dim(2), "n": as_dim(3)}
    pair = TupleHint((ArrayHint(None, "n"), ArrayHint(None, "n")))
    assert meets(pair, Tuple((Tensor(shape_of(3)), Tensor(shape_of(4))))).reason == (
        "in element 1 its axis 0 is 4, the annotation says n = 3"
    )
