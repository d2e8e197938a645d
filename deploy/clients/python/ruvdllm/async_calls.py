# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""What calls.py has, for asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterable, AsyncIterator, Callable, Generic, Iterable, Optional, Union

import grpc
import grpc.aio

from ruvdllm.calls import Metadata, Request, Response, Terms
from ruvdllm.errors import Error


class UnaryUnary(Generic[Request, Response]):
    """A method with one request and one answer."""

    def __init__(self, call: Any, terms: Terms) -> None:
        self._call, self._terms = call, terms

    async def __call__(self, request: Request, timeout: Optional[float] = None,
                       metadata: Optional[Metadata] = None) -> Response:
        """Returns the answer. `timeout` in seconds; without it, that of the client."""
        try:
            return await self._call(request, **self._terms.of_one(timeout, metadata))
        except grpc.RpcError as error:
            raise Error.of(error) from None


class Stream(Generic[Response]):
    """The answers of a call. Leaving the `async with` block, or cancel(), ends the call."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._is_cancelled = False

    def __aiter__(self) -> AsyncIterator[Response]:
        return self

    async def __anext__(self) -> Response:
        if self._is_cancelled:
            raise StopAsyncIteration
        try:
            answer = await self._call.read()
        except grpc.RpcError as error:
            raise Error.of(error) from None
        except asyncio.CancelledError:
            if self._is_cancelled:
                raise StopAsyncIteration from None
            raise
        if answer is grpc.aio.EOF:
            raise StopAsyncIteration
        return answer

    def cancel(self) -> None:
        """Ends the call. No answer follows."""
        self._is_cancelled = True
        self._call.cancel()

    async def __aenter__(self) -> "Stream[Response]":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()


class UnaryStream(Generic[Request, Response]):
    """A method with one request and a stream of answers."""

    def __init__(self, call: Any, terms: Terms) -> None:
        self._call, self._terms = call, terms

    def __call__(self, request: Request, timeout: Optional[float] = None,
                 metadata: Optional[Metadata] = None) -> Stream[Response]:
        """Returns the answers. `timeout` in seconds is for all of them; without it, there is no end."""
        return Stream(self._call(request, **self._terms.of_stream(timeout, metadata)))


async def _each(requests: Union[Iterable[Request], AsyncIterable[Request]]) -> AsyncIterator[Request]:
    if isinstance(requests, AsyncIterable):
        async for request in requests:
            yield request
    else:
        for request in requests:
            yield request


class StreamUnary(Generic[Request, Response]):
    """A method with a stream of requests and one answer."""

    def __init__(self, call: Any, terms: Terms) -> None:
        self._call, self._terms = call, terms

    async def __call__(self, requests: Union[Iterable[Request], AsyncIterable[Request]],
                       timeout: Optional[float] = None,
                       metadata: Optional[Metadata] = None) -> Response:
        """Returns the answer. `timeout` in seconds; without it, that of the client."""
        # The requests are written here, because gRPC would only log why an iterator failed.
        call = self._call(**self._terms.of_one(timeout, metadata))
        try:
            async for request in _each(requests):
                try:
                    await call.write(request)
                except (grpc.RpcError, asyncio.InvalidStateError):
                    break  # the node has answered already, and says below why
            else:
                await call.done_writing()
            return await call
        except grpc.RpcError as error:
            raise Error.of(error) from None
        except BaseException:
            call.cancel()
            raise


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
