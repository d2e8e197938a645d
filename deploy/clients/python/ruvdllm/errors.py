# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The error that every call of this package raises."""

from __future__ import annotations

from typing import Any, Dict, Optional

import grpc

from ruvdllm import details as _details

_DETAILS = "grpc-status-details-bin"
# gRPC itself refuses these calls, so they have no details (docs/api.md).
_REASONS = {grpc.StatusCode.UNAUTHENTICATED: "CALLER_UNKNOWN",
            grpc.StatusCode.PERMISSION_DENIED: "ROLE_MISSING"}


class Error(grpc.RpcError):
    """What came instead of an answer. Programs use `reason`, or `code()` where there is no reason.

    Attributes:
      message: what happened and what to do, for people
      reason: a reason of docs/api.md, such as "MODEL_UNKNOWN"; empty if none came with the error
      fields: the path of each wrong field of the request, and what is wrong with it
      retry_after: the seconds after which another try may succeed; None if the error came for good
      limit, value: the limit that was exceeded, and by what; None if the error is about no limit
      quota: the quotas that are used up ("key" or "privacy"), and what each says
      metadata: what else the node said about the reason
    """

    def __init__(self, code: grpc.StatusCode, message: str, encoded: bytes = b"",
                 trailing: Any = ()) -> None:
        super().__init__(message)
        read = _details.read(encoded)
        self.message = message
        self.reason = read.reason or _REASONS.get(code, "")
        self.fields: Dict[str, str] = read.fields
        self.retry_after: Optional[float] = read.retry_after
        self.limit = _whole(read.metadata.get("limit"))
        self.value = _whole(read.metadata.get("value"))
        self.quota: Dict[str, str] = read.quota
        self.metadata: Dict[str, str] = read.metadata
        self._code = code
        self._trailing = trailing

    @classmethod
    def of(cls, error: grpc.RpcError) -> "Error":
        """Returns what an error of gRPC says."""
        if isinstance(error, cls):
            return error
        trailing = error.trailing_metadata() or ()
        encoded = next((value for key, value in trailing if key == _DETAILS), b"")
        return cls(error.code(), error.details() or "", encoded, trailing)

    # These are the methods of gRPC's own errors, so that programs which expect those still work.
    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self.message

    def trailing_metadata(self) -> Any:
        return self._trailing

    def __str__(self) -> str:
        return f"{self.reason or self._code.name}: {self.message}"


def _whole(text: Optional[str]) -> Optional[int]:
    return int(text) if text and text.isascii() and text.isdigit() else None
