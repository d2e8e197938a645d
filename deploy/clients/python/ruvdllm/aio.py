# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""What the package has for asyncio: AsyncClient, pages, items and retrying."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Awaitable, Callable, Optional

from ruvdllm.async_client import AsyncClient, AsyncCompletion
from ruvdllm.errors import Error
from ruvdllm.repeat import Answer, Page, Waits, items_of, next_request

__all__ = ["AsyncClient", "AsyncCompletion", "items", "pages", "retrying"]


async def retrying(call: Callable[[], Awaitable[Answer]], *, attempts: int = 8, patience: float = 120.0,
                   sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep) -> Answer:
    """Awaits what `call` returns, and calls again as ruvdllm.retrying does."""
    waits = Waits(attempts, patience)
    while True:
        try:
            return await call()
        except Error as error:
            wait = waits.after(error)
            if wait is None:
                raise
        await sleep(wait)


async def pages(call: Callable[[Any], Awaitable[Page]], request: Any) -> AsyncIterator[Page]:
    """Yields every page of a list."""
    following: Optional[Any] = request
    while following is not None:
        page = await call(following)
        yield page
        following = next_request(following, page)


async def items(call: Callable[[Any], Awaitable[Any]], request: Any) -> AsyncIterator[Any]:
    """Yields what the pages of a list have, one after another."""
    async for page in pages(call, request):
        for item in items_of(page):
            yield item
