"""Logs of Inspect: `.eval`, a zip archive, and `.json`. An epoch of a sample is a repetition of a case."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import FileResults, FoundTrial, Gap, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import decode, listed, number, read_document, text, tokens, whole
from repeat_eval.readers.inspect_scores import Decider, Score, choose, judge
from repeat_eval.readers.kinds import error_kind
from repeat_eval.records.natural_order import natural_key
from repeat_eval.records.trial import ErrorKind, Outcome, one_line

if TYPE_CHECKING:
    from repeat_eval.readers.archives import Archive

_HEADER = "header.json"
_START = "_journal/start.json"
_SUMMARIES = "summaries.json"
_SUMMARY = re.compile(r"_journal/summaries/[0-9]{1,9}\.json")
_SAMPLE = re.compile(r"samples/.+_epoch_[0-9]{1,9}\.json", re.DOTALL)
_MAX_EPOCH = 1_000_000
_OUTPUT_BYTES = 32_000_000
_JSON_KEYS = (b'"eval"', b'"status"', b'"task_id"', b'"run_id"', b'"eval_id"', b'"dataset"')


class _Dataset(msgspec.Struct):
    sample_ids: list[str | int] | None = None


class _Config(msgspec.Struct):
    epochs: Any = None
    limit: Any = None
    sample_id: Any = None


class _Spec(msgspec.Struct):
    task: str
    model: Any = None
    dataset: _Dataset | None = None
    config: _Config | None = None


class _Headline(msgspec.Struct):
    scorer: Any = None
    score: Any = None


class _ScoreResult(msgspec.Struct):
    name: Any = None
    scorer: Any = None


class _Results(msgspec.Struct):
    total_samples: Any = None
    scores: list[_ScoreResult] | None = None
    headline: _Headline | None = None


class _Message(msgspec.Struct):
    message: Any = None


class _Header(msgspec.Struct):
    eval: _Spec
    status: Any = None
    results: _Results | None = None
    error: _Message | None = None
    invalidated: Any = None


class _Usage(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None
    total_cost: Any = None


class _Output(msgspec.Struct):
    completion: Any = None


class _Sample(msgspec.Struct):
    id: str | int
    epoch: int
    uuid: Any = None
    scores: dict[str, Score] | None = None
    error: Any = None
    limit: Any = None
    output: _Output | None = None
    model_usage: dict[str, _Usage] | None = None
    started_at: Any = None
    total_time: Any = None
    error_retries: list[Any] | None = None
    retries: Any = None
    turn_count: Any = None
    invalidation: Any = None


class _Log(_Header):
    samples: list[_Sample] | None = None


def sniff(head: bytes, path: Path) -> bool:
    """Whether the file begins as a log of Inspect does."""
    if head.startswith(b"PK\x03\x04"):
        first = head[30:200]
        return (
            first.startswith((b"_journal/", b"header.json", b"samples/", b"summaries.json")) or path.suffix == ".eval"
        )
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"{") and b'"eval"' in head[:2_000] and sum(key in head for key in _JSON_KEYS) >= 4


def read(path: Path, options: ReadOptions) -> FileResults:
    """Read a log of Inspect.

    Raises:
        ReadError: with the file and, where it is known, the entry, the line or the key.
    """
    with path.open("rb") as file:
        zipped = file.read(4) == b"PK\x03\x04"
    if not zipped:
        log = read_document(path, _Log)
        return _Reading(path, options, log, log.samples or []).results()
    from repeat_eval.readers.archives import Archive

    with Archive(path, options) as archive:
        header, finished = _header(archive, path)
        samples = list(_samples(archive, path, finished=finished))
        reading = _Reading(path, options, header, samples)
        reading.add_outputs(archive)
        return reading.results()


def _header(archive: Archive, path: Path) -> tuple[_Header, bool]:
    """The log's header; without one the log is unfinished, and its first entry stands for it."""
    if _HEADER in archive.names:
        return decode(archive.read(_HEADER), _Header, path, inside=_HEADER), True
    if _START in archive.names:
        header = decode(archive.read(_START), _Header, path, inside=_START)
        header.status = "started"
        return header, False
    raise ReadError(Problem(f"holds neither {_HEADER} nor {_START}, so it is no log of Inspect", file=str(path)))


def _samples(archive: Archive, path: Path, *, finished: bool) -> Iterator[_Sample]:
    """Samples from the summaries, which are small; from entries of their own where no summary tells of them."""
    names = archive.names
    if finished and _SUMMARIES in names:
        entries = [_SUMMARIES]
    else:
        entries = sorted((name for name in names if _SUMMARY.fullmatch(name)), key=natural_key)
    there = set()
    for entry in entries:
        for sample in decode(archive.read(entry), list[_Sample], path, inside=entry):
            there.add(_entry(sample))
            yield sample
    for name in names:
        if name not in there and _SAMPLE.fullmatch(name):
            yield decode(archive.read(name), _Sample, path, inside=name)


def _entry(sample: _Sample) -> str:
    return f"samples/{sample.id}_epoch_{sample.epoch}.json"


@dataclass(slots=True)
class _Reading:
    """Turns the samples of one log into trials."""

    path: Path
    options: ReadOptions
    header: _Header
    samples: list[_Sample]
    warnings: list[str] = field(default_factory=list)
    partial: int = 0

    def __post_init__(self) -> None:
        if len(self.samples) > self.options.max_testcases:
            raise ReadError(Problem(f"has more than {self.options.max_testcases:,} samples", file=str(self.path)))
        for sample in self.samples:
            if not 1 <= sample.epoch <= _MAX_EPOCH:
                text = f"sample {str(sample.id)[:60]!r} has epoch {sample.epoch}; it is from 1 to {_MAX_EPOCH:,}"
                raise ReadError(Problem(text, file=str(self.path)))

    def add_outputs(self, archive: Archive) -> None:
        """Read what was answered in trials that did not pass, which no summary tells, as far as it is small."""
        decider = self._decider(quiet=True)
        names = set(archive.names)
        left = _OUTPUT_BYTES
        for sample in self.samples:
            name = _entry(sample)
            if sample.output is not None or name not in names or self._verdict(sample, decider)[0] == "passed":
                continue
            left -= archive.size(name)
            if left < 0:
                return
            try:
                whole_sample = decode(archive.read(name), _Sample, self.path, inside=name)
            except ReadError:
                # The verdict is known without it; a damaged entry costs the output alone.
                continue
            sample.output = whole_sample.output

    def results(self) -> FileResults:
        """Everything, once."""
        decider = self._decider()
        self.partial = 0
        trials: dict[tuple[str, int], FoundTrial] = {}
        broken = None
        for sample in self.samples:
            case = self._case(sample.id)
            if (case, sample.epoch) in trials:
                broken = broken or f"sample {str(sample.id)[:60]!r} has epoch {sample.epoch} twice"
                continue
            trials[case, sample.epoch] = self._trial(sample, case, decider)
        if self.partial:
            self.warnings.append(
                f"{self.partial} scores are neither 0 nor 1; a trial passes with 1 or more, as in Inspect's own counts"
            )
        if self.header.invalidated is True:
            self.warnings.append("the log was marked as invalidated")
        asked, gaps = self._missing(list(trials.values()))
        model = text(self.header.eval.model)
        return FileResults(
            path=self.path,
            format="inspect",
            trials=tuple(trials.values()),
            gaps=gaps,
            warnings=tuple(self.warnings),
            broken=broken,
            asked=asked,
            variant=model,
        )

    def _case(self, sample: str | int) -> str:
        return identity(f"{self.header.eval.task}::{sample}")

    def _decider(self, *, quiet: bool = False) -> Decider | None:
        seen: Counter[str] = Counter()
        for sample in self.samples:
            seen.update((sample.scores or {}).keys())
        wanted = self.options.scorer
        decider = choose(wanted, self._headline(), seen)
        if decider is None and wanted is not None and seen:
            text = f"no scorer is called {wanted!r}; there are {listed(sorted(seen), 20)}"
            raise ReadError(Problem(text, file=str(self.path)))
        if len(seen) > 1 and wanted is None and decider is not None and not quiet:
            others = listed([name for name in seen if name != decider.scorer])
            self.warnings.append(
                f"scorer {decider.scorer!r} decides; {others} do not count (--scorer NAME chooses another)"
            )
        return decider

    def _headline(self) -> tuple[str, str] | None:
        results = self.header.results
        if results is None:
            return None
        if results.headline is not None and (results.headline.scorer or results.headline.score):
            return str(results.headline.scorer), str(results.headline.score)
        # Logs without a headline put the first scorer first.
        return (str(results.scores[0].scorer), str(results.scores[0].name)) if results.scores else None

    def _verdict(
        self, sample: _Sample, decider: Decider | None
    ) -> tuple[Outcome, ErrorKind | None, float | None, str | None]:
        """Outcome, kind of error, score and message."""
        if sample.error:
            said = sample.error.get("message") if isinstance(sample.error, dict) else sample.error
            message = text(said) or "the sample met an error"
            return "error", error_kind("", message), None, message
        if sample.invalidation:
            return "error", "harness", None, "the sample was marked as invalidated"
        score = (sample.scores or {}).get(decider.scorer) if decider is not None else None
        if score is None or decider is None:
            name = f"the scorer {decider.scorer!r}" if decider is not None else "any scorer"
            return "error", "judge" if sample.scores else "harness", None, f"the sample has no score of {name}"
        judgement = judge(score, decider)
        self.partial += judgement.partial
        if judgement.passed is None:
            return "error", "judge", None, judgement.reason
        explanation = text(score.explanation) or text(score.answer)
        limit = sample.limit.get("type") if isinstance(sample.limit, dict) else sample.limit
        if limit:
            explanation = f"the limit of {text(limit)} was reached" + (f": {explanation}" if explanation else "")
        return ("passed" if judgement.passed else "failed"), None, judgement.score, explanation

    def _trial(self, sample: _Sample, case: str, decider: Decider | None) -> FoundTrial:
        outcome, kind, score, message = self._verdict(sample, decider)
        usage = list((sample.model_usage or {}).values())
        costs = [cost for item in usage if (cost := number(item.total_cost, least=0)) is not None]
        read = [count for item in usage if (count := whole(item.input_tokens)) is not None]
        written = [count for item in usage if (count := whole(item.output_tokens)) is not None]
        retries = whole(sample.retries) if sample.error_retries is None else len(sample.error_retries)
        return FoundTrial(
            case=case,
            outcome=outcome,
            repetition=sample.epoch,
            error_kind=kind,
            score=score,
            duration=number(sample.total_time, least=0),
            cost=sum(costs) if costs else None,
            tokens=tokens(sum(read) if read else None, sum(written) if written else None),
            message=None if outcome == "passed" else one_line(message or "") or None,
            output=text(sample.output.completion) if sample.output is not None else None,
            attempts=None if retries is None else retries + 1,
            turns=whole(sample.turn_count),
            started=sample.started_at[:100] if isinstance(sample.started_at, str) else None,
            origin=sample.uuid[:100] if isinstance(sample.uuid, str) else None,
        )

    def _missing(self, trials: list[FoundTrial]) -> tuple[dict[str, int], tuple[Gap, ...]]:
        """Trials asked for per case, and what is wholly absent."""
        spec = self.header.eval
        config = spec.config or _Config()
        epochs = whole(config.epochs) or 1
        counts: dict[str, int] = defaultdict(int)
        for trial in trials:
            counts[trial.case] += 1
        ids = (spec.dataset.sample_ids if spec.dataset is not None else None) or []
        if config.limit is None and config.sample_id is None:
            absent = [str(sample) for sample in ids if self._case(sample) not in counts]
        else:
            absent = []
        fewer = [case for case, count in counts.items() if count < epochs]
        if fewer:
            self.warnings.append(f"{len(fewer)} samples have fewer than {epochs} epochs: {listed(fewer)}")
        status = text(self.header.status)
        unfinished = "" if status in (None, "success") else f"the log has the status {one_line(status or '', 40)!r}"
        if unfinished and self.header.error is not None:
            unfinished += f" ({one_line(text(self.header.error.message) or '', 200)})"
        total = whole((self.header.results or _Results()).total_samples) or 0
        gaps = []
        if absent:
            why = f"; {unfinished}" if unfinished else ""
            gaps.append(Gap(message=f"{len(absent)} samples of the dataset have no epoch: {listed(absent)}{why}"))
        elif total > max(len(trials), epochs * len(counts)):
            gaps.append(Gap(message=f"the log declares {total} samples and holds {len(trials)}"))
        elif unfinished and not trials:
            gaps.append(Gap(message=unfinished))
        if unfinished:
            self.warnings.append(f"{unfinished}: what it lacks counts as missing")
        return dict.fromkeys(counts, epochs), tuple(gaps)
