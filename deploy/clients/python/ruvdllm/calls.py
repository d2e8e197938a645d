# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of a channel that show the key, have a deadline, and raise ruvdllm.Error."""

from __future__ import annotations

from typing import Any, Callable, Generic, Iterable, Iterator, Optional, Sequence, Tuple, TypeVar

import grpc

from ruvdllm.errors import Error

Request = TypeVar("Request")
Response = TypeVar("Response")
Metadata = Sequence[Tuple[str, str]]


class Terms:
    """What all calls of a client have in common."""

    def __init__(self, metadata: Metadata, timeout: Optional[float]) -> None:
        self._metadata = tuple(metadata)
        self._timeout = timeout

    def of_one(self, timeout: Optional[float], metadata: Optional[Metadata]) -> dict:
        """Returns the options of a call with one answer."""
        return self.of_stream(self._timeout if timeout is None else timeout, metadata)

    def of_stream(self, timeout: Optional[float], metadata: Optional[Metadata]) -> dict:
        """Returns the options of a call that may go on for ever."""
        return {"timeout": timeout, "metadata": self._metadata + tuple(metadata or ())}


class UnaryUnary(Generic[Request, Response]):
    """A method with one request and one answer."""

    def __init__(self, call: Any, terms: Terms) -> None:
        self._call, self._terms = call, terms

    def __call__(self, request: Request, timeout: Optional[float] = None,
                 metadata: Optional[Metadata] = None) -> Response:
        """Returns the answer. `timeout` in seconds; without it, that of the client."""
        try:
            return self._call(request, **self._terms.of_one(timeout, metadata))
        except grpc.RpcError as error:
            raise Error.of(error) from None


class Stream(Generic[Response]):
    """The answers of a call. Leaving the `with` block, or cancel(), ends the call."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._is_cancelled = False

    def __iter__(self) -> Iterator[Response]:
        return self

    def __next__(self) -> Response:
        try:
            return next(self._call)
        except grpc.RpcError as error:
            if self._is_cancelled:
                raise StopIteration from None
            raise Error.of(error) from None

    def cancel(self) -> None:
        """Ends the call. No answer follows."""
        self._is_cancelled = True
        self._call.cancel()

    def __enter__(self) -> "Stream[Response]":
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class UnaryStream(Generic[Request, Response]):
    """A method with one request and a stream of answers."""

    def __init__(self, call: Any, terms: Terms) -> None:
        self._call, self._terms = call, terms

    def __call__(self, request: Request, timeout: Optional[float] = None,
                 metadata: Optional[Metadata] = None) -> Stream[Response]:
        """Returns the answers. `timeout` in seconds is for all of them; without it, there is no end."""
        return Stream(self._call(request, **self._terms.of_stream(timeout, metadata)))


class _Requests(Generic[Request]):
    """Remembers why its requests ended early: gRPC would only log it."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self._requests = iter(requests)
        self.failure: Optional[Exception] = None

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        try:
            return next(self._requests)
        except StopIteration:
            raise
        except Exception as failure:
            self.failure = failure
            raise


class StreamUnary(Generic[Request, Response]):
    """A method with a stream of requests and one answer."""

    def __init__(self, call: Any, terms: Terms) -> None:
        self._call, self._terms = call, terms

    def __call__(self, requests: Iterable[Request], timeout: Optional[float] = None,
                 metadata: Optional[Metadata] = None) -> Response:
        """Returns the answer. `timeout` in seconds; without it, that of the client."""
        sent = _Requests(requests)
        try:
            return self._call(sent, **self._terms.of_one(timeout, metadata))
        except grpc.RpcError as error:
            if sent.failure is not None:
                raise sent.failure from None
            raise Error.of(error) from None


class Channel:
    """What generated stubs make their methods from."""

    def __init__(self, channel: Any, terms: Terms) -> None:
        self._channel, self._terms = channel, terms

    def unary_unary(self, *path: Any, **codecs: Callable) -> UnaryUnary:
        return UnaryUnary(self._channel.unary_unary(*path, **codecs), self._terms)

    def unary_stream(self, *path: Any, **codecs: Callable) -> UnaryStream:
        return UnaryStream(self._channel.unary_stream(*path, **codecs), self._terms)

    def stream_unary(self, *path: Any, **codecs: Callable) -> StreamUnary:
        return StreamUnary(self._channel.stream_unary(*path, **codecs), self._terms)
