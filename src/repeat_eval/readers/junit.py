"""JUnit XML, as pytest, Surefire and many others write it.

The file is streamed: no tree is built, so memory holds the trials and nothing else. Document types are refused, and
with them every entity that is not XML's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from repeat_eval.errors import Problem
from repeat_eval.readers.base import (
    MAX_IDENTITY_CHARACTERS,
    FileResults,
    FoundTrial,
    Gap,
    ReadError,
    ReadOptions,
    identity,
)
from repeat_eval.readers.kinds import error_kind, is_assertion
from repeat_eval.readers.names import name_trials
from repeat_eval.readers.numbers import count, json_number, not_negative
from repeat_eval.readers.repeated_tests import OUTCOMES, REPORT_MARK, trials_behind
from repeat_eval.readers.totals import Counts, Suite
from repeat_eval.records.trial import Outcome, Tokens, one_line

_CHUNK = 1 << 16
_MAX_TEXT = 4_000
_MAX_WARNED = 5

_RESULTS: dict[str, Outcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
# Surefire's names for the other tries of one test: `flaky*` when it passed in the end, `rerun*` when it did not.
_TRIES: dict[str, Outcome] = {
    "flakyFailure": "failed",
    "flakyError": "error",
    "rerunFailure": "failed",
    "rerunError": "error",
}
_STATUSES: dict[str, Outcome] = {
    "failed": "failed",
    "failure": "failed",
    "error": "error",
    "skipped": "skipped",
    "disabled": "skipped",
    "notrun": "skipped",
}
_BUILD_FAILURES = frozenset({"[build failed]", "[setup failed]"})
# Where Go's and Jest's writers put a package or file of which no test ran.
_GO_PACKAGE = "TestMain"
_JEST_FILE = "Test suite failed to run"
_EMPTY_WORDS = frozenset({"Failed"})
"""What Go's writers give as the message of every failure; the text says why."""
_GO_MARKS = ("=== ", "--- ")


class _Refused(Exception):
    """The file is XML, but nothing that is read here."""


@dataclass(slots=True)
class _Element:
    """A failure, error, skipped or retried-try element that is open or was read."""

    tag: str
    message: str
    type: str
    text: list[str] = field(default_factory=list)
    size: int = 0

    def line(self) -> str | None:
        """The element's message in one line: the attribute, else the text."""
        message = "" if self.message in _EMPTY_WORDS else _telling(self.message)
        return message or _telling("".join(self.text)) or one_line(self.message) or one_line(self.type) or None


@dataclass(slots=True)
class _Case:
    """The testcase that is open. Most hold nothing, so nothing is made for them."""

    attributes: Mapping[str, str]
    depth: int
    results: list[_Element] | None = None
    tries: list[_Element] | None = None
    properties: dict[str, str] | None = None


class _Handler:
    """Receives the parser's events and collects trials (lxml's parser-target interface)."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.trials: list[FoundTrial] = []
        self.suite_names: list[str] = []
        self.gaps: list[Gap] = []
        self.warnings: list[str] = []
        self.broken: str | None = None
        self.root = ""
        self.root_name = ""
        self.unreadable_durations = 0
        self.unreadable_scores = 0
        self.repeated: dict[str, int] = {}  # tests that our plugin repeated: trials asked for
        self._names: list[str] = []  # one a testcase, gaps too: what equal names explain in a suite's totals
        self._counts = Counts()
        self._suites: list[Suite] = []
        self._case: _Case | None = None
        self._open: _Element | None = None
        self._open_depth = 0
        self._depth = 0

    def doctype(self, *_: object) -> None:
        raise _Refused("has a document type (DOCTYPE), which is refused")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag[0] == "{":
            tag = tag.rpartition("}")[2]
        self._depth += 1
        if not self.root:
            self.root = tag
            if tag not in ("testsuites", "testsuite"):
                raise _Refused(f"is XML, but no JUnit results: its root is <{tag[:100]}>")
            self.root_name = attributes.get("name", "")
        case = self._case
        if case is not None:
            self._start_in_case(case, tag, attributes)
        elif tag == "testcase":
            if self._counts.cases >= self.options.max_testcases:
                raise _Refused(f"has more than {self.options.max_testcases:,} testcases")
            self._case = _Case(attributes, self._depth)
        elif tag == "property" and attributes.get("name") == REPORT_MARK:
            raise _Refused("is a report of repeat-eval, whose testcases are verdicts; give the run.jsonl beside it")
        elif tag in ("testsuite", "testsuites"):
            held = dict(attributes)
            started = held.get("timestamp") or (self._suites[-1].started if self._suites else None)
            before = self._counts.copy()
            self._suites.append(Suite(held.get("name", ""), held, started, before, len(self._names)))

    def _start_in_case(self, case: _Case, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "testcase":
            raise _Refused("has a testcase within a testcase")
        if tag == "property":
            name = attributes.get("name")
            if name:
                if case.properties is None:
                    case.properties = {}
                case.properties[name] = attributes.get("value", "")
        elif self._open is None and (tag in _RESULTS or tag in _TRIES):
            # Also within an element that is not known: a failure counts wherever a testcase holds it.
            self._open_depth = self._depth
            self._open = _Element(tag, attributes.get("message", ""), attributes.get("type", ""))
            if tag in _RESULTS:
                case.results = case.results or []
                case.results.append(self._open)
            else:
                case.tries = case.tries or []
                case.tries.append(self._open)

    def data(self, text: str) -> None:
        element = self._open
        if element is not None and element.size < _MAX_TEXT:
            element.text.append(text[:_MAX_TEXT])
            element.size += len(text)

    def end(self, tag: str) -> None:
        case = self._case
        if case is not None:
            if self._depth == case.depth:
                self._end_case(case)
                self._case = None
                self._open = None
            elif self._depth == self._open_depth:
                self._open = None
        elif self._suites and (tag in ("testsuite", "testsuites") or tag.endswith(("}testsuite", "}testsuites"))):
            self._end_suite(self._suites.pop())
        self._depth -= 1

    def close(self) -> None:
        # Needed for the totals only; what follows needs the memory.
        self._names = []

    def _end_case(self, case: _Case) -> None:
        attributes = case.attributes
        suite = self._suites[-1] if self._suites else None
        counts = self._counts
        counts.cases += 1
        outcome: Outcome = "passed"
        decisive: _Element | None = None
        if case.results or case.tries or "status" in attributes or "result" in attributes:
            outcome, decisive = _outcome(case)
            counts.skipped += outcome == "skipped"
            counts.failing += outcome in ("failed", "error")
            counts.elements += sum(element.tag != "skipped" for element in case.results or ())
            counts.elements += len(case.tries or ())
        name = attributes.get("name", "").strip()
        owner = attributes.get("classname", "").strip() or attributes.get("file", "").strip()
        if (not name or decisive is not None) and (gap := _gap(name, owner, decisive)) is not None:
            self._names.append("")
            if owner == _JEST_FILE:
                # Listed twice, once as an error and once as a failure, and counted as no test.
                counts.cases -= 1
                counts.failing -= 1
            if gap not in self.gaps[-1:]:
                self.gaps.append(gap)
            return
        suite_name = suite.name if suite is not None else ""
        owner = owner or suite_name.strip()
        case_name = f"{owner}::{name}" if owner else name
        if len(case_name) > MAX_IDENTITY_CHARACTERS or not case_name.isascii():
            case_name = identity(case_name)
        self._names.append(case_name)

        started = attributes.get("timestamp") or (suite.started if suite is not None else None)
        duration = None
        if (time := attributes.get("time")) and (duration := not_negative(time)) is None:
            self.unreadable_durations += 1
        if outcome == "passed" and not case.tries and case.properties is None:
            self.trials.append(FoundTrial(case=case_name, outcome=outcome, duration=duration, started=started))
            self.suite_names.append(suite_name)
            return
        message = kind = None
        if decisive is not None:
            message = decisive.line()
        if outcome == "error":
            kind = error_kind(
                decisive.type if decisive else "", message or "", written=(case.properties or {}).get("error_kind")
            )
        score = cost = tokens = None
        if case.properties:
            score, cost, tokens = _figures(case.properties)
            self.unreadable_scores += score is None and "score" in case.properties
        if case.tries and self.options.duplicates == "repeats":
            # The user says that all tries were always run: each is a trial of its own.
            for element in case.tries:
                tried = _TRIES[element.tag]
                line = element.line()
                self._add(
                    suite_name,
                    FoundTrial(
                        case=case_name,
                        outcome=tried,
                        error_kind=error_kind(element.type, line or "") if tried == "error" else None,
                        message=line,
                        started=started,
                    ),
                )
        self._add_verdict(
            suite_name,
            case.properties or {},
            FoundTrial(
                case=case_name,
                outcome=outcome,
                error_kind=kind,
                score=score,
                duration=duration,
                cost=cost,
                tokens=tokens,
                message=message,
                attempts=1 + len(case.tries) if case.tries and self.options.duplicates != "repeats" else None,
                started=started,
            ),
        )

    def _add(self, suite_name: str, trial: FoundTrial) -> None:
        self.trials.append(trial)
        self.suite_names.append(suite_name)

    def _add_verdict(self, suite_name: str, properties: Mapping[str, str], trial: FoundTrial) -> None:
        behind = trials_behind(trial, properties) if OUTCOMES in properties else None
        if behind is None:
            self._add(suite_name, trial)
            return
        trials, self.repeated[trial.case] = behind
        for each in trials:
            self._add(suite_name, each)

    def _end_suite(self, suite: Suite) -> None:
        if self._suites:
            self._suites[-1].hold(suite, self._counts)
        if self.broken is None and (found := suite.contradiction(self._counts, self._names)) is not None:
            place = f"testsuite {suite.name[:100]!r}" if suite.name else "a testsuite"
            if found.excused:
                self.warnings.append(f"{place} {found.text}; {found.excused}")
            else:
                self.broken = f"{place} {found.text}"


def _telling(text: str) -> str:
    """The first line that is more than Go's mark of where a test begins or ends."""
    if text.lstrip().startswith(_GO_MARKS):
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(_GO_MARKS))
    return one_line(text)


def _outcome(case: _Case) -> tuple[Outcome, _Element | None]:
    """Outcome of a testcase and the element that decided it. A failure is a verdict, and so comes before an error."""
    decisive: dict[Outcome, _Element] = {}
    for element in case.results or ():
        outcome = _RESULTS[element.tag]
        if outcome == "error" and is_assertion(element.type):
            outcome = "failed"
        decisive.setdefault(outcome, element)
    for element in case.tries or ():
        # A rerun element belongs to a test that did not pass in the end, whether or not its failure is listed.
        if element.tag.startswith("rerun") and not case.results:
            decisive.setdefault(_TRIES[element.tag], element)
    written: Outcome | None = None
    for key in ("status", "result"):
        written = written or _STATUSES.get(case.attributes.get(key, "").lower())
    for outcome in ("failed", "error", "skipped"):
        if outcome in decisive:
            return outcome, decisive[outcome]
    return written or "passed", None


def _gap(name: str, owner: str, decisive: _Element | None) -> Gap | None:
    """Whether a testcase stands for tests that could not be run, and for which."""
    if not name:
        why = decisive.line() if decisive is not None else None
        return Gap(message="a testcase has no name" + (f": {why}" if why else ""), scope=owner or None)
    if decisive is not None and decisive.message == "collection failure" and not owner:
        return Gap(message=f"{identity(name)} could not be collected", scope=name)
    if owner == _JEST_FILE and decisive is not None:
        return Gap(message=f"{identity(name)} failed to run")
    if name == _GO_PACKAGE and decisive is not None and any(word in "".join(decisive.text) for word in _BUILD_FAILURES):
        return Gap(message=f"{identity(owner)} could not be built", scope=owner or None)
    if name in _BUILD_FAILURES:
        return Gap(message=f"{identity(owner)} {name}".strip(), scope=owner or None)
    return None


def _figures(properties: dict[str, str]) -> tuple[float | None, float | None, Tokens | None]:
    score = json_number(properties["score"].strip()) if "score" in properties else None
    written_cost = properties.get("cost_usd") or properties.get("cost")
    cost = not_negative(written_cost, json_number) if written_cost else None
    tokens_in = properties.get("tokens_input") or properties.get("input_tokens")
    tokens_out = properties.get("tokens_output") or properties.get("output_tokens")
    if not tokens_in and not tokens_out:
        return score, cost, None
    return score, cost, Tokens(input=count(tokens_in or ""), output=count(tokens_out or ""))


def sniff(head: bytes, path: Path) -> bool:
    """Whether the first bytes of a file look like JUnit XML."""
    del path
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.replace(b"\0", b"")[2:]
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith(b"<") and (b"<testsuite" in text or text.startswith((b"<?xml", b"<!--", b"<!DOCTYPE")))


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read a JUnit XML file.

    Args:
        path: the file. options: what equal names mean, and limits.

    Returns:
        Its trials; the identity of a case is `classname::name`, with the file or the suite where no class is given.

    Raises:
        ReadError: the file is no XML, no JUnit, cut off, has a document type, or is beyond the limits.
    """
    from lxml import etree

    handler: Any = _Handler(options)
    # huge_tree stays off: libxml2's own limits on depth (256) and on the length of texts hold.
    parser = etree.XMLParser(
        target=handler, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=False
    )
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                parser.feed(chunk)
        parser.close()
    except _Refused as error:
        raise ReadError(Problem(str(error), file=str(path))) from error
    except etree.XMLSyntaxError as error:
        raise ReadError(Problem(f"is no whole XML: {one_line(error.msg or '')}", str(path), error.lineno)) from error

    if handler.repeated:
        # Their repetitions are known, and a number in a name is a parameter.
        options = replace(options, repetition_suffixes=False)
    named = name_trials(handler.trials, handler.suite_names, options, writer=handler.root_name, path=path)
    warnings = [*handler.warnings[:_MAX_WARNED], *named.warnings]
    if handler.unreadable_durations:
        warnings.append(f"{handler.unreadable_durations} durations could not be read and are unknown")
    if handler.unreadable_scores:
        warnings.append(f"{handler.unreadable_scores} scores are no numbers and are unknown")
    if handler.repeated:
        warnings.append(
            f"{len(handler.repeated)} tests were repeated by repeat-eval's plugin and are read with all their trials; "
            "run.jsonl tells their thresholds too"
        )
    if handler.gaps:
        listed = "; ".join(gap.message for gap in handler.gaps[:_MAX_WARNED])
        warnings.append(f"trials are missing: {listed}" + ("; …" if len(handler.gaps) > _MAX_WARNED else ""))
    return FileResults(
        path=path,
        format="junit",
        trials=tuple(named.trials),
        gaps=tuple(handler.gaps),
        warnings=tuple(warnings),
        broken=handler.broken,
        asked={trial.case: handler.repeated.get(trial.case, 1) for trial in named.trials} if handler.repeated else {},
    )
