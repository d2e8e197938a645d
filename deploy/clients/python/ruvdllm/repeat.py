# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that are made again: for the next page, or because the node had no room."""

from __future__ import annotations

import random
import time
from typing import Any, Callable, Iterator, Optional, TypeVar

from ruvdllm.errors import Error

Answer = TypeVar("Answer")
Page = TypeVar("Page")


class Waits:
    """How long to wait before each repeat of a call."""

    def __init__(self, attempts: int, patience: float) -> None:
        self._left, self._patience, self._factor = attempts - 1, patience, 1.0

    def after(self, error: Error) -> Optional[float]:
        """Returns the seconds to wait after an error; None: the call is not repeated."""
        if error.retry_after is None or self._left <= 0:
            return None
        # A little chance keeps clients that were refused together from coming back together.
        wait = max(error.retry_after, 0.05) * self._factor * random.uniform(1.0, 1.25)
        if wait > self._patience:
            return None
        self._left -= 1
        self._patience -= wait
        self._factor *= 2
        return wait


def retrying(call: Callable[[], Answer], *, attempts: int = 8, patience: float = 120.0,
             sleep: Callable[[float], Any] = time.sleep) -> Answer:
    """Makes a call, and again while the node says when another try may succeed.

    The waits grow from what the node says. After `attempts` calls, or where the waits would be longer
    than `patience` seconds together, the error is raised, and so is each error without such a time.
    """
    waits = Waits(attempts, patience)
    while True:
        try:
            return call()
        except Error as error:
            wait = waits.after(error)
            if wait is None:
                raise
        sleep(wait)


def next_request(request: Any, page: Any) -> Optional[Any]:
    """Returns the request for the page after `page`; None after the last one."""
    if not page.next_page_token:
        return None
    following = type(request)()
    following.CopyFrom(request)
    following.page_token = page.next_page_token
    return following


def items_of(page: Any) -> Any:
    """Returns what a page lists: its one field with many messages."""
    lists = [field.name for field in page.DESCRIPTOR.fields
             if field.message_type is not None and not field.message_type.GetOptions().map_entry
             and field.label == field.LABEL_REPEATED]
    if len(lists) != 1:
        raise TypeError(f"{page.DESCRIPTOR.name} has {len(lists)} lists; use pages()")
    return getattr(page, lists[0])


def pages(call: Callable[[Any], Page], request: Any) -> Iterator[Page]:
    """Yields every page of a list, such as pages(client.pattern.ListPatterns, ListPatternsRequest())."""
    following: Optional[Any] = request
    while following is not None:
        page = call(following)
        yield page
        following = next_request(following, page)


def items(call: Callable[[Any], Any], request: Any) -> Iterator[Any]:
    """Yields what the pages of a list have, one after another."""
    for page in pages(call, request):
        yield from items_of(page)
