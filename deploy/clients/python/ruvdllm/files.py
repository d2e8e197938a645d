# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Files that go to a node and come from it in pieces."""

from __future__ import annotations

import io
import os
import tempfile
from typing import Any, BinaryIO, Callable, Iterator, Optional, Union

import grpc

from ruvdllm.errors import Error
from ruvdllm.requests import Path

PIECE_BYTES = 512 << 10  # a node takes 1 MiB a message

Source = Union[Path, bytes]  # the path of a file, or its bytes


class Upload:
    """A file on its way to a node. Its size is said first, so exactly so many bytes follow."""

    def __init__(self, source: Source) -> None:
        self._file: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb")
        self.name = "" if isinstance(source, bytes) else os.path.basename(os.fspath(source))
        self.bytes = self._file.seek(0, os.SEEK_END)
        self._left = self.bytes
        self._file.seek(0)

    def read(self) -> bytes:
        """Returns the next piece; empty at the end."""
        piece = self._file.read(min(PIECE_BYTES, self._left))
        if not piece and self._left:
            raise OSError(f"{self.name} became shorter while it was sent; send it again")
        self._left -= len(piece)
        return piece

    def messages(self, make: Callable[..., Any], **first: Any) -> Iterator[Any]:
        """Yields the message that describes the file, then those with its bytes."""
        with self._file:
            yield make(**first)
            while piece := self.read():
                yield make(data=piece)


class Download:
    """A file that a node sends. A path gets it at the end, when it is whole."""

    def __init__(self, to: Union[Path, BinaryIO]) -> None:
        self.bytes = 0
        self._total: Optional[int] = None
        self._path = None if hasattr(to, "write") else os.fspath(to)  # type: ignore[arg-type]
        if self._path is None:
            self._file: Any = to
        else:
            self._file = tempfile.NamedTemporaryFile(
                dir=os.path.dirname(self._path) or ".", prefix=os.path.basename(self._path) + ".",
                delete=False)

    def take(self, message: Any) -> None:
        if self._total is None:
            self._total = message.total_bytes
        self._file.write(message.data)
        self.bytes += len(message.data)

    def finish(self) -> int:
        """Returns the number of bytes that were written."""
        if self.bytes != (self._total or 0):
            raise Error(grpc.StatusCode.DATA_LOSS, f"the node announced a file of {self._total} bytes "
                                                   f"and sent {self.bytes}; ask again")
        if self._path is not None:
            self._file.close()
            os.replace(self._file.name, self._path)
            self._path = None
        return self.bytes

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is not None:  # it is not whole
            self._file.close()
            os.unlink(self._file.name)
