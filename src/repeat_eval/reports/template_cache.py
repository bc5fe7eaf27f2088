"""Compiled templates are kept beside the templates, as Python keeps compiled modules: compiling takes longer than all
the figures of a small run.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket


class TemplateCache(FileSystemBytecodeCache):
    """Bytecode of templates in a `__pycache__` folder. A folder that cannot be written is no trouble."""

    def __init__(self, templates: Path) -> None:
        folder = templates / "__pycache__"
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                folder.mkdir(exist_ok=True)
        super().__init__(str(folder), f"%s.{sys.implementation.cache_tag}.jinja")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load what was kept, if anything was."""
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep compiled bytecode, where that is possible and wanted."""
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                super().dump_bytecode(bucket)
