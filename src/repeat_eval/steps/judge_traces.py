"""Fixed outputs for evaluators: traces from a run file, a folder of recordings or JSON Lines, and what humans said."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.fixed_outputs import FixedOutput
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.records.journal import looks_like_run_file, read_run
from repeat_eval.records.trial import Trial, clean, sha256_of
from repeat_eval.steps.request import Request
from repeat_eval.suite.checks.base import Answer
from repeat_eval.suite.fields import found
from repeat_eval.suite.settings import settings_of
from repeat_eval.suite.spec import CaseSpec, SuiteSpec
from repeat_eval.targets.base import TargetError
from repeat_eval.targets.python_target import answer_from

MAX_BYTES = 200_000_000
MAX_PROBLEMS = 100
_LABELS = {
    **dict.fromkeys(("pass", "passed", "true", "yes", "1", "good"), True),
    **dict.fromkeys(("fail", "failed", "false", "no", "0", "bad"), False),
}
_ANSWER_KEYS = ("output", "tool_calls", "turns", "tokens", "cost", "duration")

Labels = Mapping[tuple[str, str | None], bool]
"""What a human said about a trace and a check, or about all its checks."""


class Traces(msgspec.Struct, frozen=True):
    """Outputs to judge, and what has to be said about those that were left out."""

    outputs: tuple[FixedOutput, ...]
    warnings: tuple[str, ...] = ()


def read_traces(source: Path | Sequence[Mapping[str, Any]], spec: SuiteSpec, request: Request) -> Traces:
    """The traces in a run file, a folder of recordings or a file of JSON Lines, or given as mappings.

    Args:
        source: where they are. spec: the suite whose checks will judge them.
        request: selects cases, and says how recordings are replayed.

    Raises:
        UserError: the source cannot be read, or holds no output that can be judged.
    """
    if not isinstance(source, Path):
        traces = _from_rows(((place, dict(row)) for place, row in enumerate(source, 1)), spec, None)
    elif (source / "run.jsonl").is_file():
        raise UserError(Problem(f"is a folder of reports; give its run file, {source / 'run.jsonl'}", str(source)))
    elif source.is_dir():
        traces = _from_recordings(source, spec, request)
    elif looks_like_run_file(source):
        run = read_run(source)
        traces = _from_trials(run.trials, spec)
    else:
        traces = _from_rows(_json_lines(source), spec, str(source))
    if not traces.outputs:
        why = "; ".join(traces.warnings) or "it is empty"
        name = str(source) if isinstance(source, Path) else None
        raise UserError(Problem(f"holds no output that can be judged: {why}", name))
    return traces


def sample(outputs: Sequence[FixedOutput], size: int | None, seed: int) -> tuple[FixedOutput, ...]:
    """A random sample of traces, in their order. It depends on seed and ids only, so further traces change little."""
    if size is None or size >= len(outputs):
        return tuple(outputs)
    chosen = {one.trace for one in sorted(outputs, key=lambda one: trial_seed(seed, one.trace, 0))[:size]}
    return tuple(one for one in outputs if one.trace in chosen)


def read_labels(path: Path) -> Labels:
    """What humans said: CSV with the columns trace, label and perhaps check, or JSON Lines with these keys.

    Raises:
        UserError: everything that is wrong with the file, line by line.
    """
    rows = _json_lines(path) if path.suffix.lower() in (".jsonl", ".ndjson", ".json") else _csv_rows(path)
    return labels_of(rows, str(path))


def labels_of(rows: Iterator[tuple[int, dict[str, Any]]], name: str | None = None) -> Labels:
    """Labels from rows with their line; see `read_labels`."""
    labels: dict[tuple[str, str | None], bool] = {}
    problems: list[Problem] = []
    for line, row in rows:
        trace, check, label = _encodable(row.get("trace")), row.get("check") or None, row.get("label")
        value = label if isinstance(label, bool) else _LABELS.get(str(label).strip().lower())
        if not isinstance(trace, str) or not trace:
            problems.append(Problem(f"`trace` must be the id of a trace; found {found(trace)}", name, line))
        elif check is not None and not isinstance(check, str):
            problems.append(Problem(f"`check` must be the name of a check; found {found(check)}", name, line))
        elif value is None:
            text = f"`label` must be pass or fail (or true, false, 1, 0); found {found(label)}"
            problems.append(Problem(text, name, line))
        elif labels.setdefault((trace, check), value) != value:
            problems.append(Problem(f"says both pass and fail about the trace {trace!r}", name, line))
    if not labels and not problems:
        problems.append(Problem("holds no label", name))
    if problems:
        raise UserError(problems[:MAX_PROBLEMS])
    return labels


def _from_trials(trials: Sequence[Trial], spec: SuiteSpec) -> Traces:
    """Each distinct output of a case once; outputs that were cut, or of cases that the suite lacks, are left out."""
    cases = {case.id: case for case in spec.cases}
    seen: set[tuple[str, str]] = set()
    outputs: list[FixedOutput] = []
    unknown = cut = without = equal = 0
    for trial in sorted(trials, key=lambda one: one.repetition):
        if trial.output is None or (trial.outcome == "error" and trial.error_kind not in ("judge", "recording")):
            without += 1
            continue
        if trial.case not in cases:
            unknown += 1
            continue
        if trial.output_sha256 is not None and trial.output_sha256 != sha256_of(trial.output):
            cut += 1
            continue
        key = (trial.case, sha256_of(trial.output + "\0" + json.dumps(msgspec.to_builtins(trial.tool_calls))))
        if key in seen:
            equal += 1
            continue
        seen.add(key)
        answer = Answer(
            output=trial.output,
            tool_calls=trial.tool_calls,
            turns=trial.turns,
            tokens=trial.tokens,
            cost=trial.cost,
            duration=trial.duration,
        )
        trace = f"{trial.case}#{trial.repetition}"
        outputs.append(FixedOutput(trace=trace, case=cases[trial.case], answer=answer))
    order = {case: place for place, case in enumerate(cases)}
    outputs.sort(key=lambda one: order[one.case.id])
    said = (
        (without, "trials without output are left out"),
        (unknown, "trials of cases that the suite does not have are left out"),
        (cut, "outputs that the run file holds only in part, or scrubbed, are left out"),
        (equal, "outputs equal to another of their case are judged once"),
    )
    return Traces(tuple(outputs), tuple(f"{text}: {count:,}" for count, text in said if count))


def _from_recordings(folder: Path, spec: SuiteSpec, request: Request) -> Traces:
    """Replay a suite's recordings, without its checks; no code of targets runs and no model is asked."""
    from repeat_eval.steps.run_suite import run_suite

    replaying = settings_of({"cassettes": str(folder.absolute()), "cassette_mode": "replay"})
    options = request.options.model_copy(update={name: getattr(replaying, name) for name in _REPLAY})
    bare = msgspec.structs.replace(
        spec, cases=tuple(msgspec.structs.replace(case, checks=(), expect_written=None) for case in spec.cases)
    )
    quiet = Request(suite=request.suite, options=options, cases=request.cases, tags=request.tags)
    quiet = msgspec.structs.replace(quiet, environ=request.environ, run_as=request.run_as, looks_alone=False)
    return _from_trials(run_suite(quiet, spec=bare).recording.trials, spec)


_REPLAY = ("cassettes", "cassette_mode")


def _from_rows(rows: Iterator[tuple[int, dict[str, Any]]], spec: SuiteSpec, name: str | None) -> Traces:
    cases = {case.id: case for case in spec.cases}
    only = spec.cases[0] if len(spec.cases) == 1 else None
    problems: list[Problem] = []
    outputs: dict[str, FixedOutput] = {}
    for line, row in rows:
        try:
            one = _from_row(_encodable(row), cases, only)
        except ValueError as error:
            problems.append(Problem(str(error), name, line))
            continue
        if one.trace in outputs:
            problems.append(Problem(f"the id {one.trace!r} stands here a second time", name, line))
        outputs[one.trace] = one
    if problems:
        rest = len(problems) - MAX_PROBLEMS
        more = [Problem(f"and {rest} more problems", name)] if rest > 0 else []
        raise UserError([*problems[:MAX_PROBLEMS], *more])
    return Traces(tuple(outputs.values()))


def _encodable(value: Any) -> Any:
    """The value with lone surrogates, which JSON can write and no file of ours can hold, replaced in all its texts.

    Raises:
        ValueError: it is nested too deeply.
    """
    try:
        return _replaced(value)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_replaced(key): _replaced(inner) for key, inner in value.items()}
    return [_replaced(inner) for inner in value] if isinstance(value, list) else value


def _from_row(row: dict[str, Any], cases: Mapping[str, CaseSpec], only: CaseSpec | None) -> FixedOutput:
    trace = row.get("id")
    if not isinstance(trace, str) or not 0 < len(trace) <= 500:
        raise ValueError(f"`id` must be a text of 1 to 500 characters; found {found(trace)}")
    if "output" not in row:
        raise ValueError(f"the trace {trace!r} has no `output`")
    written = row.get("case")
    case = cases.get(trace, only) if written is None else cases.get(written) if isinstance(written, str) else None
    if case is None:
        named = f"`case` {found(written)}" if written is not None else f"id {trace!r}, and no `case`,"
        raise ValueError(f"the trace with the {named} is of no case of the suite: its checks are not known")
    try:
        answer = answer_from({key: row[key] for key in _ANSWER_KEYS if row.get(key) is not None or key == "output"})
    except TargetError as error:
        raise ValueError(f"the trace {trace!r}: {error.message.replace(' of the answer', '')}") from None
    own = {key: row[key] for key in ("input", "expected") if key in row}
    return FixedOutput(trace=trace, case=msgspec.structs.replace(case, **own), answer=answer)


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    problems: list[Problem] = []
    for line, text in enumerate(_text(path).split("\n"), 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(f"is not JSON: {getattr(error, 'msg', error)}", str(path), line))
            continue
        if not isinstance(row, dict):
            problems.append(Problem(f"must be a mapping, one a line; found {found(row)}", str(path), line))
            continue
        yield line, row
    if problems:
        raise UserError(problems[:MAX_PROBLEMS])


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(_text(path).removeprefix("\ufeff"), newline=""), strict=True)
    try:
        names = [str(name).strip() for name in reader.fieldnames or ()]
        missing = [name for name in ("trace", "label") if name not in names]
        if missing:
            raise UserError(Problem(f"has no column {' and no column '.join(missing)}", str(path), 1))
        reader.fieldnames = names
        for row in reader:
            yield reader.line_num, {key: value for key, value in row.items() if key is not None}
    except csv.Error as error:
        raise UserError(Problem(f"is not CSV: {error}", str(path), reader.line_num)) from None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(Problem(f"cannot be read: {error.strerror or error}", str(path))) from None
    if len(data) > MAX_BYTES:
        raise UserError(Problem(f"is larger than {MAX_BYTES // 1_000_000} MB", str(path)))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(Problem(f"is not UTF-8 at byte {error.start}", str(path))) from None
