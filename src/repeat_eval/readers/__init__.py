"""Readers of results that other tools wrote: files in, trials out."""

from __future__ import annotations

from repeat_eval.readers.base import FileResults, Format, FoundTrial, Gap, ReadError, ReadOptions
from repeat_eval.readers.collect import Collected, UnreadableFile, collect
from repeat_eval.readers.registry import FORMATS, format_of, read_file

__all__ = [
    "FORMATS",
    "Collected",
    "FileResults",
    "Format",
    "FoundTrial",
    "Gap",
    "ReadError",
    "ReadOptions",
    "UnreadableFile",
    "collect",
    "format_of",
    "read_file",
]
