"""The report that another run uploaded, out of its zip: in memory, bounded, and nothing in it is a path to us."""

from __future__ import annotations

import io
import zipfile
import zlib

from repeat_eval.analysis.report import Report
from repeat_eval.errors import UserError
from repeat_eval.reports.json_report import decode

ARCHIVE_BYTES = 20_000_000
"""The zip as it is downloaded."""
REPORT_BYTES = 10_000_000
"""The report unpacked."""
ENTRIES = 1000
NAME = "report.json"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_uploaded(archive: bytes) -> Report:
    """The report in an uploaded report folder; its schema is checked, its figures are not.

    The one entry that is read is `report.json` at the top; nothing is unpacked to disk.

    Raises:
        UserError: the zip is broken or beyond its bounds, holds no report or several, or the report is not valid.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            data = _report_bytes(opened)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError):
        raise UserError("the uploaded report is no zip file that can be read") from None
    return decode(data, NAME)


def _report_bytes(opened: zipfile.ZipFile) -> bytes:
    entries = opened.infolist()
    if len(entries) > ENTRIES:
        raise UserError(f"the uploaded report holds more than {ENTRIES:,} files")
    found = [entry for entry in entries if entry.filename == NAME]
    if len(found) != 1:
        raise UserError(f"the uploaded report must hold one {NAME} at its top; it holds {len(found) or 'none'}")
    if found[0].compress_type not in _METHODS:
        raise UserError(f"{NAME} in the uploaded report is packed in a way that is not read here")
    with opened.open(found[0]) as file:
        data = file.read(REPORT_BYTES + 1)  # what the zip says about its size is not believed
    if len(data) > REPORT_BYTES:
        raise UserError(f"{NAME} in the uploaded report has more than {REPORT_BYTES:,} bytes")
    return data
