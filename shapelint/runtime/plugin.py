"""The pytest plugin: `--shapelint-check`, `--shapelint-guard`, `--shapelint-probe` and the fixture `gradient_audit`.

Nothing but pytest is imported until one of them is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shapelint.runtime.gradients import GradientAudit

AUDITS = pytest.StashKey[list[Any]]()
PROPERTY = "shapelint"  # how a catch travels from a worker of pytest-xdist to the summary


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shapelint", "shapelint: checks while the tests run")
    group.addoption("--shapelint-check", metavar="PACKAGES", help="hold calls in these packages to their annotations")
    group.addoption(
        "--shapelint-guard",
        action="store_const",
        const="raise",
        help="operands that broadcast against each other fail the test",
    )
    group.addoption(
        "--shapelint-guard-warn", action="store_const", const="warn", dest="shapelint_guard", help="or only warn"
    )
    group.addoption("--shapelint-probe", metavar="PACKAGES", help="probe the annotated functions of these packages")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest is imported, so that what it imports is checked."""
    packages = early_config.known_args_namespace.shapelint_check
    if packages:
        from shapelint.runtime.hook import check

        try:
            check(*_names(packages))
        except (ImportError, ValueError) as error:
            raise pytest.UsageError(f"--shapelint-check: {error}") from None


def _names(option: str) -> list[str]:
    return [name.strip() for name in option.split(",") if name.strip()]


def pytest_configure(config: pytest.Config) -> None:
    action = config.getoption("shapelint_guard")
    if action:
        config.pluginmanager.register(GuardedTests(action), "shapelint-guard")


class GuardedTests:
    """Runs each test under guard; what was caught is said once more, as lines to paste, at the end."""

    def __init__(self, action: Any) -> None:
        self.action = action

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        from shapelint.runtime.guarding import guard

        with guard(self.action) as here:
            try:
                return (yield)
            finally:
                for line in here.report().splitlines():
                    item.user_properties.append((PROPERTY, line))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        reports = [report for reports in terminalreporter.stats.values() for report in reports]
        caught = [
            text for report in reports for name, text in getattr(report, "user_properties", ()) if name == PROPERTY
        ]
        if caught:
            terminalreporter.section("shapelint: caught by the guard")
            for text in dict.fromkeys(caught):
                terminalreporter.line(str(text))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    packages = config.getoption("shapelint_probe")
    if packages:
        from shapelint.runtime.probing import modules_of

        try:
            modules = [module for package in _names(packages) for module in modules_of(package)]
        except ImportError as error:
            raise pytest.UsageError(f"--shapelint-probe: {error}") from None
        items += [
            ProbeItem.from_parent(session, name=f"shapelint-probe[{module}]", module=module) for module in modules
        ]


class ProbeFailure(Exception):
    """What the probe of a module found."""


class ProbeItem(pytest.Item):
    """One module, probed in a process of its own."""

    def __init__(self, *, module: str, **others: Any) -> None:
        super().__init__(**others)
        self.module = module

    def runtest(self) -> None:
        from shapelint.runtime.probing import probe_module

        try:
            results = list(probe_module(self.module))
        except ImportError as error:
            raise ProbeFailure(str(error)) from None
        bugs = [result.text for result in results if result.is_bug]
        others = [result.text for result in results if not result.is_bug and result.verdict != "passed"]
        if bugs:
            raise ProbeFailure("\n".join(bugs + others))
        if len(others) == len(results):
            pytest.skip("; ".join(others) or "no annotated functions")
        self.add_report_section("call", "shapelint", "\n".join(others))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, ProbeFailure) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name


@pytest.fixture
def gradient_audit(request: pytest.FixtureRequest) -> Iterator[Callable[..., GradientAudit]]:
    """`audit = gradient_audit(model)`: the test fails if a parameter never got a gradient, or exactly zero."""
    from shapelint.runtime.gradients import GradientAudit

    audits = request.node.stash.setdefault(AUDITS, [])

    def start(model: Any, optimizer: Any = None) -> GradientAudit:
        audits.append(GradientAudit(model, optimizer))
        return audits[-1]  # type: ignore[no-any-return]

    yield start
    for audit in audits:
        audit.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """After the test itself: its audits are part of it."""
    __tracebackhide__ = True
    for audit in item.stash.get(AUDITS, ()):
        audit.check()
