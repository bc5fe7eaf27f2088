"""Load a suite file: all faults at once, each with line, column, key, what was found and what is allowed."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from pydantic import ValidationError

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.natural_order import natural_key
from repeat_eval.suite.expect import make_checks
from repeat_eval.suite.fields import case_id, found
from repeat_eval.suite.judge_settings import JudgeSettings
from repeat_eval.suite.messages import plain_message, unknown_key
from repeat_eval.suite.model import SPELLINGS, SUITE_SPELLINGS, CaseDefaults, CaseModel, SuiteModel, TargetModel
from repeat_eval.suite.settings import Settings
from repeat_eval.suite.spec import CaseSpec, ConfiguredCheck, SuiteSpec, TargetSpec
from repeat_eval.suite.yaml_source import KeyPath, Source, YamlMapping, plain, read_yaml

MAX_PROBLEMS = 100
_M = TypeVar("_M", SuiteModel, CaseModel, CaseDefaults)


def load_suite(path: Path) -> SuiteSpec:
    """Load and validate a suite file with everything that it includes.

    Raises:
        UserError: with every problem found (at most 100), each at its place.
    """
    loader = _Loader(path)
    spec = loader.load()
    if loader.problems:
        rest = len(loader.problems) - MAX_PROBLEMS
        problems = sorted(
            loader.problems, key=lambda problem: (problem.file or "", problem.line or 0, problem.column or 0)
        )
        shown = problems[:MAX_PROBLEMS]
        raise UserError([*shown, Problem(f"and {rest} more problems")] if rest > 0 else shown)
    return spec


def target_from_text(text: str) -> TargetSpec:
    """A target given on the command line: `python:module:function`, `module:function`, `command:LINE` or a URL.

    Raises:
        UserError: it is none of these.
    """
    try:
        model = CaseDefaults.model_validate({"target": text}).target
    except ValidationError as error:
        raise UserError("--target: " + plain_message(error.errors()[0])) from None
    assert model is not None  # noqa: S101 - given above
    return _target_spec(model, None, ())


class _Defaults(msgspec.Struct):
    """What `defaults:` says, its checks, and the suite file that it stands in."""

    model: CaseDefaults
    checks: list[ConfiguredCheck]
    source: Source


class _Raw(msgspec.Struct):
    """A case as written, where it stands, and under which defaults."""

    value: Any
    source: Source
    path: KeyPath
    defaults: _Defaults
    suite_tags: tuple[str, ...]


class _Loader(msgspec.Struct):
    path: Path
    problems: list[Problem] = msgspec.field(default_factory=list)
    _seen: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict)

    def load(self) -> SuiteSpec:
        source = read_yaml(self.path)
        if not isinstance(source.value, YamlMapping):
            raise UserError(
                self._problem(source, (), f"a suite is a mapping with `cases:`; found {found(source.value)}")
            )
        written_repeat = "repeat" in source.value
        body = self._respelled(source, source.value, SUITE_SPELLINGS, ())
        model = self._validated(SuiteModel, body, source, ())
        if model is None:
            model = SuiteModel.model_construct()
            self._collect_cases(source, model, body)
            return self._spec(model, source, [], written_repeat=False)
        cases = self._collect_cases(source, model, body)
        if not cases and not self.problems:
            self.problems.append(self._problem(source, (), "has no cases; write at least one below `cases:`"))
        return self._spec(model, source, cases, written_repeat=written_repeat)

    def _spec(self, model: SuiteModel, source: Source, cases: list[CaseSpec], *, written_repeat: bool) -> SuiteSpec:
        settings = Settings.model_construct(**{name: getattr(model, name) for name in Settings.model_fields})
        warnings = [f"case {case.id!r} has no checks: every answer passes" for case in cases if not case.checks]
        if len(warnings) > 3:
            warnings = [f"{len(warnings)} cases have no checks: every answer passes (first: {cases[0].id!r})"]
        return SuiteSpec(
            name=model.name or self.path.stem,
            folder=self.path.resolve().parent,
            cases=tuple(cases),
            settings=settings,
            target=_target_spec(model.target, source, ("target",)) if model.target else None,
            path=self.path,
            source=source,
            written_repeat=written_repeat,
            warnings=tuple(warnings),
        )

    def _collect_cases(self, source: Source, model: SuiteModel, body: dict[str, Any]) -> list[CaseSpec]:
        cases = []
        for raw in self._raw_cases(source, model, body):
            case = self._case(raw)
            if case is not None:
                cases.append(case)
        return cases

    def _raw_cases(self, source: Source, model: SuiteModel, body: dict[str, Any]) -> Iterator[_Raw]:
        defaults = self._defaults(source, body)
        tags = tuple(model.tags or ())
        written = body.get("cases")
        for index, value in enumerate(written if isinstance(written, list) else ()):
            yield _Raw(value, source, ("cases", index), defaults, tags)
        for position, pattern in enumerate(model.include or ()):
            for included in self._included(source, position, pattern):
                inner = included.value
                path: KeyPath = ()
                if isinstance(inner, YamlMapping):
                    extra = [key for key in inner if key != "cases"]
                    for key in extra:
                        text = unknown_key(key, ["cases"]) + " (an included file holds cases only)"
                        self.problems.append(self._problem(included, (key,), text, of_key=True))
                    inner, path = inner.get("cases"), ("cases",)
                if not isinstance(inner, list):
                    text = f"an included file holds a list of cases, or `cases:`; found {found(inner)}"
                    self.problems.append(self._problem(included, path, text))
                    continue
                for index, value in enumerate(inner):
                    yield _Raw(value, included, (*path, index), defaults, tags)

    def _defaults(self, source: Source, body: dict[str, Any]) -> _Defaults:
        value = body.get("defaults")
        model: CaseDefaults | None = None
        checks: list[ConfiguredCheck] = []
        if isinstance(value, YamlMapping):
            respelled = self._respelled(source, value, SPELLINGS, ("defaults",))
            model = self._validated(CaseDefaults, respelled, source, ("defaults",))
            checks = self._checks(respelled, source, ("defaults",))
        elif value is not None:
            text = f"`defaults` must be a mapping; found {found(value)}"
            self.problems.append(self._problem(source, ("defaults",), text))
        return _Defaults(model or CaseDefaults.model_construct(), checks, source)

    def _checks(
        self, body: dict[str, Any], source: Source, path: KeyPath, taken: Sequence[ConfiguredCheck] = ()
    ) -> list[ConfiguredCheck]:
        expect = body.get("expect")
        if not isinstance(expect, list):
            return []
        checks, faults = make_checks(expect, [check.name for check in taken])
        for below, of_key, text in faults:
            self.problems.append(self._problem(source, (*path, "expect", *below), text, of_key=of_key))
        return checks

    def _included(self, source: Source, position: int, pattern: str) -> Iterator[Source]:
        folder = self.path.parent
        found_files = sorted(glob.glob(pattern, root_dir=folder, recursive=True), key=natural_key)
        files = [folder / name for name in found_files if (folder / name).is_file()]
        if not files:
            text = f"no file matches {pattern!r} (looked in {folder})"
            self.problems.append(self._problem(source, ("include", position), text))
        for file in files:
            if file.resolve() == self.path.resolve():
                self.problems.append(self._problem(source, ("include", position), "the suite includes itself"))
                continue
            try:
                yield read_yaml(file)
            except UserError as error:
                self.problems += error.problems

    def _case(self, raw: _Raw) -> CaseSpec | None:
        if not isinstance(raw.value, YamlMapping):
            text = f"a case is a mapping with `id` and `input`; found {found(raw.value)}"
            self.problems.append(self._problem(raw.source, raw.path, text))
            return None
        body = self._respelled(raw.source, raw.value, SPELLINGS, raw.path)
        model = self._validated(CaseModel, body, raw.source, raw.path)
        checks = self._checks(body, raw.source, raw.path, raw.defaults.checks)
        line = raw.source.place(raw.path).line
        unique = self._claim_id(raw, body.get("id"), line)
        return self._case_spec(raw, model, checks, line) if model is not None and unique else None

    def _claim_id(self, raw: _Raw, written: Any, line: int) -> bool:
        """Whether no case before had this id; also cases with other faults have one."""
        try:
            name = case_id(written)
        except ValueError:
            return True  # said by the model
        if name not in self._seen:
            self._seen[name] = (raw.source.file, line)
            return True
        file, first = self._seen[name]
        where = f"in line {first}" if file == raw.source.file else f"in {file}:{first}"
        key = "id" if "id" in raw.value else "name"
        text = f"two cases have the id {found(name)} (the first is {where})"
        self.problems.append(self._problem(raw.source, (*raw.path, key), text))
        return False

    def _case_spec(self, raw: _Raw, model: CaseModel, checks: list[Any], line: int) -> CaseSpec:
        defaults = raw.defaults.model

        def said(name: str) -> Any:
            own = getattr(model, name)
            return own if own is not None else getattr(defaults, name)

        target = None
        if model.target:
            target = _target_spec(model.target, raw.source, (*raw.path, "target"))
        elif defaults.target:
            target = _target_spec(defaults.target, raw.defaults.source, ("defaults", "target"))
        retry_on = said("retry_on")
        return CaseSpec(
            id=model.id,
            input=plain(said("input")),
            expected=plain(said("expected")),
            variables={**plain(defaults.vars or {}), **plain(model.vars or {})},
            tags=tuple(dict.fromkeys((*raw.suite_tags, *(defaults.tags or ()), *(model.tags or ())))),
            repeats=said("repeats"),
            threshold=said("threshold"),
            gate=said("gate"),
            timeout=said("timeout"),
            retries=said("retries"),
            retry_on=None if retry_on is None else frozenset(retry_on),
            target=target,
            checks=(*raw.defaults.checks, *checks),
            expect_written=plain([*(defaults.expect or ()), *(model.expect or ())]),
            written_repeat="repeat" in raw.value,
            file=raw.source.file,
            line=line,
        )

    def _respelled(
        self, source: Source, value: YamlMapping, spellings: dict[str, str], path: KeyPath
    ) -> dict[str, Any]:
        """The mapping with other spellings (`repeat`, hyphens) replaced by the names of the model."""
        respelled: dict[str, Any] = {}
        for key, inner in value.items():
            name = key.replace("-", "_")
            name = spellings.get(name, name)
            if name in respelled:
                text = f"{key!r} is another spelling of `{name}`, which is there already"
                self.problems.append(self._problem(source, (*path, key), text, of_key=True))
            else:
                respelled[name] = inner
        return respelled

    def _validated(self, model: type[_M], body: dict[str, Any], source: Source, path: KeyPath) -> _M | None:
        target = body.get("target")
        if isinstance(target, dict) and isinstance(target.get("model"), dict | str):
            self._check_model(target["model"], source, (*path, "target", "model"))
        try:
            return model.model_validate(body)
        except ValidationError as error:
            for details in error.errors():
                self._report(model, dict(details), source, path)
            return None

    def _check_model(self, value: Any, source: Source, path: KeyPath) -> None:
        """Report the faults of what stands behind `model:` of a target."""
        from repeat_eval.suite.model_target import model_problems

        for below, of_key, text in model_problems(value):
            self.problems.append(self._problem(source, (*path, *below), text, of_key=of_key))

    def _report(self, model: type[Any], details: dict[str, Any], source: Source, path: KeyPath) -> None:
        loc = tuple(details["loc"])
        known = [name for name in model.model_fields if name != "id" or model is CaseModel]
        if loc[0] == "judge" and len(loc) > 1:
            known = list(JudgeSettings.model_fields)
        elif len(loc) > 1:
            known = list(TargetModel.model_fields) if "target" in loc else list(CaseDefaults.model_fields)
        of_key = details["type"] == "extra_forbidden"
        details["loc"] = loc
        text = plain_message(details, known)
        self.problems.append(self._problem(source, (*path, *self._as_written(source, path, loc)), text, of_key=of_key))

    @staticmethod
    def _as_written(source: Source, path: KeyPath, loc: tuple[str | int, ...]) -> KeyPath:
        """The path in the file, where a key may have another spelling than in the model."""
        value = source.value
        for step in path:
            value = value[step]
        steps: list[str | int] = []
        spellings = {**SPELLINGS, **SUITE_SPELLINGS}
        for name in loc:
            step = name
            if isinstance(value, YamlMapping) and name not in value:
                other = [key for key in value if spellings.get(key.replace("-", "_"), key.replace("-", "_")) == name]
                step = other[0] if other else name
            steps.append(step)
            inside = isinstance(value, YamlMapping) and step in value
            inside = inside or (isinstance(value, list) and isinstance(step, int) and step < len(value))
            value = value[step] if inside else None
        return tuple(steps)

    @staticmethod
    def _problem(source: Source, path: KeyPath, text: str, *, of_key: bool = False) -> Problem:
        position = source.place(path, of_key=of_key)
        return Problem(text, source.file, position.line, position.column)


def _target_spec(model: TargetModel, source: Source | None, path: KeyPath) -> TargetSpec:
    if model.python is not None:
        return TargetSpec("python", model.python, source, path)
    if model.command is not None:
        return TargetSpec("command", plain(model.command), source, path)
    if model.model is not None:
        return TargetSpec("model", plain(model.model), source, path)
    return TargetSpec("http", plain(model.http), source, path)
