"""Zip archives of other tools, read within bounds: Deflate, and Zstandard, which zipfile knows from Python 3.14 on."""

from __future__ import annotations

import struct
import sys
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from repeat_eval.errors import Problem
from repeat_eval.readers.base import ReadError, ReadOptions

_ZSTANDARD = 93
_MAX_DIRECTORY = 32_000_000
_MAX_RATIO = 2_000
_FREE_OF_RATIO = 4_000_000
_END = b"PK\x05\x06"
_END_BYTES = 22
_MAX_COMMENT = 65_535
_END_64 = b"PK\x06\x06"
_LOCATOR_BYTES = 20
_END_64_BYTES = 56
_ENCRYPTED = 0x1


class Archive:
    """A zip archive whose entries are read one by one, all together no more than `max_bytes` when unpacked.

    Sizes and checksums of entries are what is really there, not what the archive declares.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        """Read the directory.

        Raises:
            ReadError: there is none, or it is too large.
        """
        self._path = path
        self._left = self._most = options.max_bytes
        self._file: BinaryIO = path.open("rb")
        try:
            self._check_directory()
            self._zip = zipfile.ZipFile(self._file)
            self._entries = {info.filename: info for info in self._zip.infolist()}
            if len(self._entries) > 4 * options.max_testcases:
                raise self._problem(f"has more than {4 * options.max_testcases:,} entries")
        except zipfile.BadZipFile as error:
            self._file.close()
            raise self._problem(f"is no whole zip archive: {error}") from error
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries."""
        return tuple(self._entries)

    def size(self, name: str) -> int:
        """Bytes that an entry declares to unpack to."""
        return self._entries[name].file_size

    def _problem(self, text: str, name: str | None = None) -> ReadError:
        return ReadError(Problem(f"{name}: {text}" if name else text, file=str(self._path)))

    def _check_directory(self) -> None:
        """Refuse a directory that alone would fill the memory, before zipfile builds it."""
        self._file.seek(0, 2)
        length = self._file.tell()
        start = max(0, length - _MAX_COMMENT - _END_BYTES - _LOCATOR_BYTES - _END_64_BYTES)
        self._file.seek(start)
        tail = self._file.read()
        end = tail.rfind(_END)
        if end < 0 or end + _END_BYTES > len(tail):
            raise self._problem("is no whole zip archive: its directory is missing, as in a file that was cut off")
        sizes = [struct.unpack_from("<I", tail, end + 12)[0]]
        larger = end - _LOCATOR_BYTES - _END_64_BYTES
        if larger >= 0 and tail[larger : larger + 4] == _END_64:
            sizes = [struct.unpack_from("<Q", tail, larger + 40)[0]]
        if sizes[0] > _MAX_DIRECTORY:
            raise self._problem(
                f"has a directory of {sizes[0]:,} bytes, more than the {_MAX_DIRECTORY:,} that are read"
            )
        self._file.seek(0)

    def read(self, name: str) -> bytes:
        """Unpack an entry.

        Raises:
            ReadError: the entry is damaged, encrypted, packed in a way that is not known, or unpacks to too much.
        """
        info = self._entries[name]
        if info.flag_bits & _ENCRYPTED:
            raise self._problem("is encrypted", name)
        if info.file_size > self._left:
            raise self._problem(f"unpacks to more than the {self._most:,} bytes that are read", name)
        limit = min(self._left, max(_FREE_OF_RATIO, info.compress_size * _MAX_RATIO))
        try:
            data = self._unpack(info, self._packed(info), limit)
        except (zlib.error, EOFError, OSError, struct.error) as error:
            raise self._problem(f"is damaged: {error}", name) from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise self._problem("is damaged: its size or checksum differs from what is declared", name)
        self._left -= len(data)
        return data

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        self._file.seek(info.header_offset)
        header = self._file.read(30)
        if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
            raise EOFError("its header is missing")
        name_length, extra_length = struct.unpack_from("<HH", header, 26)
        self._file.seek(name_length + extra_length, 1)
        packed = self._file.read(info.compress_size)
        if len(packed) < info.compress_size:
            raise EOFError("it is cut off")
        return packed

    def _unpack(self, info: zipfile.ZipInfo, packed: bytes, limit: int) -> bytes:
        if info.compress_type == zipfile.ZIP_STORED:
            data, more = packed[: limit + 1], len(packed) > limit
        elif info.compress_type == zipfile.ZIP_DEFLATED:
            inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            data = inflate.decompress(packed, limit + 1)
            more = len(data) > limit
            if not more and not inflate.eof:
                raise EOFError("it is cut off")
        elif info.compress_type == _ZSTANDARD:
            data, more = _unpack_zstandard(packed, limit)
        else:
            raise self._problem(f"is packed by method {info.compress_type}, which is not known", info.filename)
        if more:
            text = f"unpacks to more than {limit:,} bytes, which is more than is read of an entry of its size"
            raise self._problem(text, info.filename)
        return data


def _unpack_zstandard(packed: bytes, limit: int) -> tuple[bytes, bool]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    parts: list[bytes] = []
    total = 0
    try:
        while packed:
            frame = zstd.ZstdDecompressor()
            part = frame.decompress(packed, limit - total + 1)
            parts.append(part)
            total += len(part)
            if total > limit:
                return b"", True
            if not frame.eof:
                raise EOFError("it is cut off")
            packed = frame.unused_data
    except zstd.ZstdError as error:
        raise EOFError(str(error)) from error
    return b"".join(parts), False
