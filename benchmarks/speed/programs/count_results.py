"""Count what results files hold: `read` (the reader), `collect` (trials of a run), `iterparse` (nothing of ours)."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def bare(path: Path) -> Counter[str]:
    """What the standard library's own streaming needs at least for the same counts."""
    counts: Counter[str] = Counter()
    for _, element in ElementTree.iterparse(path):  # noqa: S314
        if element.tag == "testcase":
            counts["passed" if element.find("failure") is None else "failed"] += 1
            element.clear()
    return counts


def main() -> None:
    """Print the outcomes."""
    way, paths = sys.argv[1], [Path(name) for name in sys.argv[2:]]
    if way == "iterparse":
        print(sum((bare(path) for path in paths), Counter()))
        return
    from repeat_eval.readers import collect, read_file

    if way == "read":
        print(Counter(trial.outcome for path in paths for trial in read_file(path).trials))
    else:
        print(Counter(trial.outcome for trial in collect(paths).trials))


if __name__ == "__main__":
    main()
