"""A run file of our own whose first line is torn is told as what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from repeat_eval.errors import UserError
from repeat_eval.readers.collect import collect


def test_a_run_file_with_a_torn_first_line_alone_is_called_broken_and_not_mixed_in(tmp_path: Path) -> None:
    torn = tmp_path / "run.jsonl"
    torn.write_text('{"schema":"repeat-eval/run/1","suite":"des', encoding="utf-8")
    with pytest.raises(UserError, match="is a run file of repeat-eval whose first line is broken"):
        collect([torn])
