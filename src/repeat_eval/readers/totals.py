"""Whether a testsuite lists what it declares. A file that lost its failures says so here, or nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from repeat_eval.readers.numbers import count

# pytest counts passed subtests and errors on teardown as further tests; they are no testcases of their own.
_PYTEST_WRITES = frozenset({"name", "errors", "failures", "skipped", "tests", "time", "timestamp", "hostname"})
_PYTEST_EXCUSE = "pytest counts subtests and errors on teardown as tests"


@dataclass(slots=True)
class Counts:
    """What was listed.

    Attributes:
        cases: testcases. skipped: those of them that were skipped. failing: those that failed or met an error.
        elements: failure and error elements, those of other tries too.
    """

    cases: int = 0
    skipped: int = 0
    failing: int = 0
    elements: int = 0

    def copy(self) -> Counts:
        """The counts as they are now."""
        return Counts(self.cases, self.skipped, self.failing, self.elements)

    def since(self, before: Counts) -> Counts:
        """What was listed after `before`."""
        return Counts(
            self.cases - before.cases,
            self.skipped - before.skipped,
            self.failing - before.failing,
            self.elements - before.elements,
        )

    def add(self, more: Counts) -> None:
        """Count `more` in."""
        self.cases += more.cases
        self.skipped += more.skipped
        self.failing += more.failing
        self.elements += more.elements


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a suite declares and what it lists, and why that is no contradiction after all, if it is none."""

    text: str
    excused: str | None = None


@dataclass(slots=True)
class Suite:
    """A testsuite that is being read.

    Attributes:
        name: its name. attributes: as written. started: its start time as written, or that of the suite around it.
        before: what the file had listed when the suite began. first: number of testcases then.
        inner: what the suites in it list.
    """

    name: str
    attributes: Mapping[str, str]
    started: str | None
    before: Counts
    first: int
    inner: Counts = field(default_factory=Counts)

    def hold(self, suite: Suite, now: Counts) -> None:
        """Note what a suite within this one lists."""
        self.inner.add(now.since(suite.before))

    def contradiction(self, now: Counts, names: Sequence[str]) -> Contradiction | None:
        """Compare the declared totals with what is listed.

        Some writers count a suite with the suites in it, others without: either is consistent. Plugins that run tests
        again list every try and declare only the tests, so equal names may explain that more is listed than declared.

        Args:
            now: what the file has listed so far. names: of the file's testcases so far.
        """
        everything = now.since(self.before)
        found = self._compare(everything, names)
        if found is None or (self.inner.cases and self._compare(everything.since(self.inner), names) is None):
            return None
        return found

    def _compare(self, listed: Counts, names: Sequence[str]) -> Contradiction | None:
        failures, errors = count(self.attributes.get("failures", "")), count(self.attributes.get("errors", ""))
        if failures is not None or errors is not None:
            declared = (failures or 0) + (errors or 0)
            if declared > listed.elements:
                return Contradiction(f"declares {declared} failures and errors and lists {listed.elements}")
            both = failures is not None and errors is not None
            if both and declared < listed.failing and declared < listed.failing - self._extra(names):
                return Contradiction(f"declares {declared} failures and errors and lists {listed.failing}")
        tests = count(self.attributes.get("tests", ""))
        if tests is None or tests in (listed.cases, listed.cases - listed.skipped):
            return None
        text = f"declares {tests} tests and lists {listed.cases}"
        if tests > listed.cases:
            return Contradiction(text, _PYTEST_EXCUSE if self.attributes.keys() == _PYTEST_WRITES else None)
        return Contradiction(text) if tests < listed.cases - self._extra(names) else None

    def _extra(self, names: Sequence[str]) -> int:
        own = names[self.first :]
        return len(own) - len(set(own))
