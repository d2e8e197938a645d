# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the details of an error, which are a google.rpc.Status.

The messages of google.rpc are read by hand: a program that has them from googleapis-common-protos would
otherwise meet two definitions of one message, which protobuf refuses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterator, Optional, Tuple, Union

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_INT64 = 1 << 63


class Malformed(ValueError):
    """Bytes that are no message."""


@dataclass
class Details:
    """What the details of an error say."""

    reason: str = ""
    domain: str = ""
    metadata: Dict[str, str] = field(default_factory=dict)
    fields: Dict[str, str] = field(default_factory=dict)
    retry_after: Optional[float] = None
    quota: Dict[str, str] = field(default_factory=dict)


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Malformed("a number is cut off")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & (2 * _INT64 - 1), at
    raise Malformed("a number has more than ten bytes")


def _fields(data: bytes) -> Iterator[Tuple[int, Union[int, bytes]]]:
    """Yields the number and value of each field: a number, or the bytes of a text or message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            number, at = _varint(data, at)
            yield tag >> 3, number
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise Malformed(f"a field has the unknown type {kind}")
        if size > len(data) - at:
            raise Malformed("a field is cut off")
        if kind == _BYTES:
            yield tag >> 3, data[at:at + size]
        at += size


def _parts(data: bytes, number: int) -> Iterator[bytes]:
    for found, value in _fields(data):
        if found == number and isinstance(value, bytes):
            yield value


def _text(data: bytes, number: int) -> str:
    text = ""
    for value in _parts(data, number):
        text = value.decode("utf-8", "replace")
    return text


def _number(data: bytes, number: int) -> int:
    last = 0
    for found, value in _fields(data):
        if found == number and isinstance(value, int):
            last = value - 2 * _INT64 if value >= _INT64 else value
    return last


def _pairs(data: bytes, number: int) -> Dict[str, str]:
    """Returns the first two texts of each part; they are a key and a value, or a place and why."""
    return {_text(part, 1): _text(part, 2) for part in _parts(data, number)}


def read(data: bytes) -> Details:
    """Returns what `grpc-status-details-bin` says. Malformed bytes and unknown details say nothing."""
    details = Details()
    try:
        for detail in _parts(data, 3):
            name = _text(detail, 1).rsplit("/", 1)[-1]
            value = b"".join(_parts(detail, 2))
            if name == "google.rpc.ErrorInfo":
                details.reason, details.domain = _text(value, 1), _text(value, 2)
                details.metadata = _pairs(value, 3)
            elif name == "google.rpc.BadRequest":
                details.fields.update(_pairs(value, 1))
            elif name == "google.rpc.RetryInfo":
                for delay in _parts(value, 1):
                    details.retry_after = _number(delay, 1) + _number(delay, 2) / 1e9
            elif name == "google.rpc.QuotaFailure":
                details.quota.update(_pairs(value, 1))
    except Malformed:
        return Details()
    return details
