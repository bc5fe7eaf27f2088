"""lm-evaluation-harness: `samples_<task>_<time>.jsonl`, a document and a filter a line.

Filters are ways to score one answer, never repetitions. Where a document has several texts, they share one score, so
what each of them would have got cannot be known: a document is one trial, and several files are the repetitions.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import MAX_PROBLEMS, FileResults, FoundTrial, ReadError, ReadOptions, check_file, identity
from repeat_eval.readers.documents import decode, listed, number, read_document, text
from repeat_eval.records.trial import bounded, one_line

_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d{2}-\d{2}T[\d.:-]+)\.jsonl")
_HASH = 8
_Key = tuple[str, str]


class _Config(msgspec.Struct):
    model: Any = None
    model_args: Any = None


class _Totals(msgspec.Struct):
    config: _Config | None = None


def sniff(head: bytes, path: Path) -> bool:
    """Whether the first bytes of a file look like the harness's samples."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    if not line.startswith(b"{") or b'"doc_id"' not in line:
        return False
    # A long document may push the other keys out of sight.
    return (b'"resps"' in line and b'"filtered_resps"' in line) or _NAME.fullmatch(path.name) is not None


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read the samples of one task.

    Args:
        path: the file; its name tells the task.
        options: limits; `scorer` names the metric that decides, `METRIC` or `METRIC,FILTER` as the harness writes it.
            Without it that is the first metric of the first filter whose values are all 0 or 1.

    Returns:
        One trial a document; the identity of a case is `task::doc N` with the beginning of the document's hash.

    Raises:
        ReadError: a line is no such JSON, no metric says whether a document passed, or the file is beyond the limits.
    """
    rows, texts = _rows(path, options)
    key = _decisive(rows, options, path)
    match = _NAME.fullmatch(path.name)
    task = f"{match['task']}::" if match else ""
    trials: dict[str, FoundTrial] = {}
    problems: list[Problem] = []
    for line, row in rows:
        if _filter(row) != key[1]:
            continue
        trial = _trial(task, row, key[0])
        if trial.case in trials:
            problems.append(Problem(f"{trial.case} is there twice for the filter {key[1]!r}", str(path), line))
        trials[trial.case] = trial
    if problems:
        raise ReadError(problems[:MAX_PROBLEMS])
    warnings = []
    filters = list(dict.fromkeys(_filter(row) for _, row in rows))
    metrics = list(dict.fromkeys(name for _, row in rows for name in _metrics(row)))
    if len(filters) > 1 or len(metrics) > 1:
        warnings.append(
            f"filters and metrics are no repetitions: {key[0]},{key[1]} decides; there are the filters "
            f"{listed(filters)} and the metrics {listed(metrics)}"
        )
    if texts > 1:
        warnings.append(
            f"up to {texts} texts a document share one score, so single repetitions cannot be known: each document "
            "is one trial; several files are repetitions"
        )
    return FileResults(
        path=path,
        format="lm-eval",
        trials=tuple(trials.values()),
        warnings=tuple(warnings),
        variant=_model(path.with_name(f"results_{match['time']}.json"), options) if match else None,
    )


def _model(beside: Path, options: ReadOptions) -> str | None:
    """The model, from the file with the totals that the harness writes beside the samples."""
    try:
        check_file(beside, options)
        config = read_document(beside, _Totals).config or _Config()
    except ReadError:
        return None
    return one_line(", ".join(said for part in (config.model, config.model_args) if (said := text(part))), 200) or None


def _rows(path: Path, options: ReadOptions) -> tuple[list[tuple[int, dict[str, Any]]], int]:
    """The lines with what is needed of them, and the most texts that a document has."""
    rows: list[tuple[int, dict[str, Any]]] = []
    texts = 1
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            if not line.strip():
                continue
            if len(rows) >= options.max_testcases:
                raise ReadError(Problem(f"has more than {options.max_testcases:,} rows", str(path), place))
            row = decode(line, dict[str, Any], path, line=place)
            if not isinstance(row.get("doc_id"), int | str) or isinstance(row["doc_id"], bool):
                raise ReadError(Problem("the line has no doc_id", str(path), place))
            responses = row.get("resps")
            if isinstance(responses, list) and responses and isinstance(responses[0], list):
                # One list a request: several requests are the choices of one question, not repetitions.
                texts = max(texts, len(responses[0]) if len(responses) == 1 else 1)
            kept: dict[str, Any] = {
                name: row[name] for name in ("doc_id", "doc_hash", "filter", "metrics") if name in row
            }
            kept |= {name: row.get(name) for name in _metrics(row)}
            kept["answer"] = _answer(row.get("filtered_resps"))
            rows.append((place, kept))
    return rows, texts


def _metrics(row: dict[str, Any]) -> list[str]:
    named = row.get("metrics")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def _filter(row: dict[str, Any]) -> str:
    found = row.get("filter")
    return found if isinstance(found, str) else "none"


def _answer(filtered: object) -> str | None:
    if isinstance(filtered, list) and len(filtered) == 1:
        filtered = filtered[0]
    found = text(filtered)
    return None if found is None else bounded(found)


def _binary(value: object) -> bool:
    return isinstance(value, bool) or number(value) in (0, 1)


def _decisive(rows: list[tuple[int, dict[str, Any]]], options: ReadOptions, path: Path) -> _Key:
    """The metric and the filter that decide."""
    verdicts: dict[_Key, bool] = {}
    for _, row in rows:
        for metric in _metrics(row):
            key = (metric, _filter(row))
            value = row.get(metric)
            unknown = not isinstance(value, bool) and number(value) is None
            verdicts[key] = verdicts.get(key, True) and (unknown or _binary(value))
    names = listed([f"{metric},{name}" for metric, name in verdicts], 10)
    if options.scorer is not None:
        wanted = [key for key in verdicts if options.scorer in (key[0], f"{key[0]},{key[1]}")]
        if not wanted:
            text_ = f"has no metric {options.scorer!r}; there are {names or 'none'}"
            raise ReadError(Problem(text_, file=str(path)))
        if not any(verdicts[key] for key in wanted):
            text_ = f"{options.scorer!r} has values other than 0 and 1, so it says of no document whether it passed"
            raise ReadError(Problem(text_, file=str(path)))
        return next(key for key in wanted if verdicts[key])
    for key, binary in verdicts.items():
        if binary:
            return key
    reason = "no metric is 0 or 1 throughout, so none says whether a document passed" if verdicts else "has no metric"
    raise ReadError(Problem(reason + (f"; there are {names}" if verdicts else ""), file=str(path)))


def _trial(task: str, row: dict[str, Any], metric: str) -> FoundTrial:
    digest = row.get("doc_hash")
    ending = f" [{digest[:_HASH]}]" if isinstance(digest, str) and digest else ""
    value = row.get(metric)
    score = float(value) if isinstance(value, bool) else number(value)
    found = FoundTrial(
        case=identity(f"{task}doc {row['doc_id']}{ending}"), outcome="passed", score=score, output=row["answer"]
    )
    if score is None:
        return msgspec.structs.replace(
            found, outcome="error", error_kind="judge", message=f"{one_line(metric, 100)} has no value"
        )
    return (
        found
        if score == 1
        else msgspec.structs.replace(found, outcome="failed", message=f"{one_line(metric, 100)} is 0")
    )
