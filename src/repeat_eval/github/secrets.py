"""A secret that is missing is noticed before any trial, and said in one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from repeat_eval.github.event import Restriction

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NOT_THE_USERS = ("INPUT_", "ACTIONS_", "GITHUB_", "RUNNER_", "REPEAT_EVAL_")
_NAMED = 5


def variables_of_http(target: object) -> frozenset[str]:
    """Names of the environment variables that an `http:` target needs: `${NAME}` in its URL and headers.

    Args:
        target: what stands behind `http:` in a suite, whatever it is.
    """
    if isinstance(target, str):
        return frozenset(_VARIABLE.findall(target))
    if not isinstance(target, Mapping):
        return frozenset()
    headers = target.get("headers")
    values = [target.get("url"), *(headers.values() if isinstance(headers, Mapping) else ())]
    return frozenset(name for value in values if isinstance(value, str) for name in _VARIABLE.findall(value))


def missing_secrets(
    needed: Iterable[str], environ: Mapping[str, str], *, looks_secret: Callable[[str], bool]
) -> tuple[str, ...]:
    """Names of variables that are missing, in order: needed and not set or blank, or handed over and blank.

    A secret that GitHub does not give to a run becomes an empty variable, since the workflow sets it all the same.

    Args:
        needed: names that the suite cannot do without. environ: the step's environment.
        looks_secret: whether a variable's name says that it holds a secret.
    """
    missing = {name for name in needed if not environ.get(name, "").strip()}
    missing.update(
        name
        for name, value in environ.items()
        if not value.strip() and not name.startswith(_NOT_THE_USERS) and looks_secret(name)
    )
    return tuple(sorted(missing))


def missing_sentence(missing: Iterable[str], restricted: Restriction | None) -> str:
    """Why secrets are missing and what to do, as a sentence that goes on from "Not evaluated:"; no full stop."""
    all_names = list(missing)
    names = ", ".join(all_names[:_NAMED])
    if len(all_names) > _NAMED:
        names += f" and {len(all_names) - _NAMED} more"
    several = len(all_names) > 1
    if restricted == "fork":
        return f"this pull request comes from a fork, so GitHub gives it no {names}"
    if restricted == "dependabot":
        return (
            f"Dependabot started this run, so GitHub gives it no {names}; "
            f"add {'them' if several else 'it'} to the repository's Dependabot secrets"
        )
    return (
        f"{names} {'are' if several else 'is'} not set or empty; "
        f"check the secret{'s' if several else ''} in the repository's settings and the env: of the step"
    )
