"""The field types of a suite: what each accepts, in plain words when it does not.

Used by the suite file, the command line, environment variables and the Python API alike, so that all of them refuse
the same things with the same sentence.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictStr, StringConstraints

from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.records.trial import ERROR_KINDS, ErrorKind

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|sec|m|min|h)?\Z")
_UNITS = {"ms": 0.001, None: 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_RATE = re.compile(r"[1-9][0-9]{0,6}(\.[0-9]{1,6})?\s*/\s*(s|sec|second|min|minute|h|hour)\Z")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

MAX_REPEATS = 10_000


def found(value: Any) -> str:
    """A value as an error message shows it: short, on one line."""
    text = getattr(value, "text", None)
    if text is None:
        text = {None: "nothing", True: "true", False: "false"}.get(value) if _is_word(value) else None
    if text is None:
        text = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _is_word(value: Any) -> bool:
    return value is None or value is True or value is False


def _text_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return value.strip()
    written = getattr(value, "text", None)
    if written is not None:
        return str(written)
    if isinstance(value, (int, float)):
        return repr(value)
    return None


def _rate_text(value: Any) -> str:
    text = _text_of(value)
    if text is None:
        raise ValueError(f"must be a rate from 0 to 1, for instance 0.8; found {found(value)}")
    parse_threshold(text)
    return text


def _whole(minimum: int, maximum: int, example: str) -> Any:
    def validate(value: Any) -> int:
        number: int | None = None
        if isinstance(value, int) and not isinstance(value, bool):
            number = int(value)
        elif isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value.strip()):
            number = int(value)
        if number is None or not minimum <= number <= maximum:
            raise ValueError(f"must be a whole number from {minimum} to {maximum:,}, {example}; found {found(value)}")
        return number

    return validate


def _seconds(value: Any) -> float:
    text = _text_of(value)
    match = _DURATION.match(text) if text is not None else None
    if match is None or (seconds := float(match[1]) * _UNITS[match[2]]) <= 0 or seconds > 7 * 86400:
        raise ValueError(f"must be a duration above 0 such as 30, 30s, 5m or 1h; found {found(value)}")
    return seconds


def _number(value: Any) -> float:
    """The number that is written, NaN if it is none."""
    try:
        return float(_text_of(value) or "")
    except ValueError:
        return math.nan


def _money(value: Any) -> float:
    amount = _number(value)
    if not 0 < amount < math.inf:
        raise ValueError(f"must be an amount of US dollars above 0, for instance 2.50; found {found(value)}")
    return amount


def _alpha(value: Any) -> str:
    text = _rate_text(value)
    if not 0 < parse_threshold(text) <= parse_threshold("0.5"):
        raise ValueError(f"must be a share above 0 and at most 0.5, for instance 0.05; found {found(value)}")
    return text


def _points(value: Any) -> float:
    points = _number(value)
    if not 0 < points <= 100:
        raise ValueError(f"must be percentage points above 0 and at most 100, for instance 3; found {found(value)}")
    return points


def _folder_name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"must be the name of a folder, for instance cassettes; found {found(value)}")
    return value.strip()


def _switch(value: Any) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    if not isinstance(word, bool) and word not in ("true", "false"):
        raise ValueError(f"must be true or false; found {found(value)}")
    return word in (True, "true")


def _second_look(value: Any) -> str:
    # Imported where used: most runs say nothing about it, and it brings the statistics along.
    from repeat_eval.suite.second_look import parse_second_look, written

    return written(parse_second_look(value))


def _rate_limit(value: Any) -> str:
    if not isinstance(value, str) or not _RATE.match(value.strip()):
        raise ValueError(f"must be a rate such as 60/min, 5/s or 1000/h; found {found(value)}")
    return value.strip()


def case_id(value: Any) -> str:
    """Validate the id of a case; ValueError otherwise."""
    text = _text_of(value)
    if not text or len(text) > 1000 or _CONTROL.search(text):
        raise ValueError(f"must be a text of 1 to 1,000 characters on one line; found {found(value)}")
    return text


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        return [part for part in re.split(r"[,\s]+", value) if part]
    return value


def python_reference(value: Any) -> str:
    """Validate a reference to a Python object, written `module:function`; ValueError otherwise."""
    if not isinstance(value, str) or not _REFERENCE.match(value.strip()):
        raise ValueError(f"must name a function as module:function, for instance agent:answer; found {found(value)}")
    return value.strip()


def _error_kind(value: Any) -> str:
    if value not in ERROR_KINDS:
        raise ValueError(f"must be among {', '.join(ERROR_KINDS)}; found {found(value)}")
    return str(value)


_Whole = Annotated[int, Field(ge=0)] | str
_Amount = Annotated[float, Field(gt=0)] | str

# `json_schema_input_type` is what may be written, for the JSON Schema; the type before it is what becomes of it.
Rate = Annotated[str, BeforeValidator(_rate_text, json_schema_input_type=Annotated[float, Field(ge=0, le=1)] | str)]
Repeats = Annotated[int, BeforeValidator(_whole(1, MAX_REPEATS, "for instance 10"), json_schema_input_type=_Whole)]
Workers = Annotated[int, BeforeValidator(_whole(1, 1000, "for instance 8"), json_schema_input_type=_Whole)]
Seed = Annotated[int, BeforeValidator(_whole(0, 2**53, "for instance 7"), json_schema_input_type=_Whole)]
Retries = Annotated[int, BeforeValidator(_whole(0, 10, "for instance 2"), json_schema_input_type=_Whole)]
ExtraLooks = Annotated[int, BeforeValidator(_whole(0, 2, "for instance 2"), json_schema_input_type=_Whole)]
FailingCases = Annotated[int, BeforeValidator(_whole(0, 1_000_000, "for instance 2"), json_schema_input_type=_Whole)]
Seconds = Annotated[float, BeforeValidator(_seconds, json_schema_input_type=_Amount)]
Money = Annotated[float, BeforeValidator(_money, json_schema_input_type=_Amount)]
Alpha = Annotated[str, BeforeValidator(_alpha)]
Points = Annotated[float, BeforeValidator(_points)]
Switch = Annotated[bool, BeforeValidator(_switch)]
_SecondLookWritten = (
    Literal["off", "3+10", "3+20", "5+20", "both"]
    | dict[Literal["first", "fresh", "cut", "alarm", "cap"], _Amount | Literal[0]]
)
SecondLook = Annotated[str, BeforeValidator(_second_look, json_schema_input_type=_SecondLookWritten)]
FolderName = Annotated[str, BeforeValidator(_folder_name)]
RateLimit = Annotated[str, BeforeValidator(_rate_limit)]
CaseId = Annotated[str, BeforeValidator(case_id, json_schema_input_type=str | float)]
Reference = Annotated[str, BeforeValidator(python_reference)]
ErrorKinds = Annotated[
    list[Annotated[Any, BeforeValidator(_error_kind)]],
    BeforeValidator(_listed, json_schema_input_type=list[ErrorKind] | str),
]
GateName = Literal["wilson", "strict", "none"]
Tag = Annotated[StrictStr, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
Tags = Annotated[list[Tag], BeforeValidator(_listed, json_schema_input_type=list[Tag] | str)]
