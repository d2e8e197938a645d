# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio. Its methods are those of client.py, which explains them."""

from __future__ import annotations

import asyncio
from typing import (TYPE_CHECKING, Any, AsyncIterator, BinaryIO, Callable, Generator, Generic, Literal,
                    Mapping, Optional, Sequence, Tuple, Union, cast, overload)

import grpc
import grpc.aio

from ruvdllm import async_calls, calls, files, requests
from ruvdllm.client import Piece, TextOrFrame
from ruvdllm.gen.ruvd.adapter.v1 import adapter_pb2, adapter_pb2_grpc
from ruvdllm.gen.ruvd.cluster.v1 import cluster_pb2_grpc
from ruvdllm.gen.ruvd.inference.v1 import inference_pb2, inference_pb2_grpc
from ruvdllm.gen.ruvd.learning.v1 import learning_pb2, learning_pb2_grpc
from ruvdllm.gen.ruvd.node.v1 import node_pb2_grpc
from ruvdllm.gen.ruvd.pattern.v1 import pattern_pb2_grpc
from ruvdllm.gen.ruvd.privacy.v1 import privacy_pb2_grpc
from ruvdllm.gen.ruvd.witness.v1 import witness_pb2_grpc

if TYPE_CHECKING:
    from ruvdllm.gen import services


class AsyncCompletion(Generic[Piece]):
    """What Completion is, for `async for`. Awaiting it waits until the node has accepted the request;
    iterating does that, too.
    """

    def __init__(self, stream: async_calls.Stream[inference_pb2.GenerateResponse]) -> None:
        self._stream = stream
        self.started = inference_pb2.Started()
        self.finished: Optional[inference_pb2.Finished] = None
        self.text = ""
        self._early: Optional[TextOrFrame] = None
        self._has_begun = False

    def _piece(self, response: inference_pb2.GenerateResponse) -> Optional[TextOrFrame]:
        """Returns a text or a frame, or None for what is neither."""
        event = response.WhichOneof("event")
        if event == "text_delta":
            self.text += response.text_delta.text
            return response.text_delta.text
        if event == "denoise_frame":
            return response.denoise_frame
        if event == "started":
            self.started = response.started
        elif event == "finished":
            self.finished = response.finished
        return None

    async def _begin(self) -> "AsyncCompletion[Piece]":
        if not self._has_begun:
            self._has_begun = True
            async for response in self._stream:
                self._early = self._piece(response)
                break
        return self

    def __await__(self) -> Generator[Any, None, "AsyncCompletion[Piece]"]:
        return self._begin().__await__()

    async def __aiter__(self) -> AsyncIterator[Piece]:
        await self._begin()
        if self._early is not None:
            early, self._early = self._early, None
            yield cast(Piece, early)
        async for response in self._stream:
            piece = self._piece(response)
            if piece is not None:
                yield cast(Piece, piece)

    @property
    def response_id(self) -> str:
        return self.started.response_id

    async def read(self) -> str:
        async for _ in self:
            pass
        return self.text

    def cancel(self) -> None:
        self._stream.cancel()

    async def __aenter__(self) -> "AsyncCompletion[Piece]":
        return await self._begin()

    async def __aexit__(self, *_: object) -> None:
        self.cancel()


async def _messages(upload: files.Upload, make: Callable[..., Any], **first: Any) -> AsyncIterator[Any]:
    """Yields what Upload.messages() yields, and reads the file beside the loop."""
    each = upload.messages(make, **first)
    loop = asyncio.get_running_loop()
    try:
        while (message := await loop.run_in_executor(None, next, each, None)) is not None:
            yield message
    finally:
        each.close()  # type: ignore[attr-defined]


class AsyncClient:
    """A node, for asyncio. It has the attributes of Client, and must be made inside a running loop."""

    def __init__(self, target: str, key: Optional[str] = None,
                 tls_ca: Union[requests.Path, bytes, None] = None, *, tls: bool = False,
                 timeout: Optional[float] = requests.TIMEOUT,
                 options: Optional[Sequence[Tuple[str, Any]]] = None) -> None:
        credentials = requests.credentials_of(target, key, tls_ca, tls)
        chosen = requests.options_of(options)
        self.channel = (grpc.aio.insecure_channel(target, chosen) if credentials is None else
                        grpc.aio.secure_channel(target, credentials, chosen))
        made: Any = async_calls.Channel(self.channel, calls.Terms(requests.metadata_of(key), timeout))
        self.adapter = cast("services.AsyncAdapterService", adapter_pb2_grpc.AdapterServiceStub(made))
        self.authority = cast("services.AsyncAuthorityService",
                              cluster_pb2_grpc.AuthorityServiceStub(made))
        self.cluster = cast("services.AsyncClusterService", cluster_pb2_grpc.ClusterServiceStub(made))
        self.inference = cast("services.AsyncInferenceService",
                              inference_pb2_grpc.InferenceServiceStub(made))
        self.learning = cast("services.AsyncLearningService",
                             learning_pb2_grpc.LearningServiceStub(made))
        self.node = cast("services.AsyncNodeService", node_pb2_grpc.NodeServiceStub(made))
        self.pattern = cast("services.AsyncPatternService", pattern_pb2_grpc.PatternServiceStub(made))
        self.privacy = cast("services.AsyncPrivacyService", privacy_pb2_grpc.PrivacyServiceStub(made))
        self.store = cast("services.AsyncStoreService", node_pb2_grpc.StoreServiceStub(made))
        self.witness = cast("services.AsyncWitnessService", witness_pb2_grpc.WitnessServiceStub(made))

    @overload
    def generate_text(self, prompt: requests.Prompt, *, frames: Literal[False] = False,
                      timeout: Optional[float] = None, **options: Any) -> AsyncCompletion[str]: ...

    @overload
    def generate_text(self, prompt: requests.Prompt, *, frames: Literal[True],
                      timeout: Optional[float] = None,
                      **options: Any) -> AsyncCompletion[TextOrFrame]: ...

    def generate_text(self, prompt: requests.Prompt, *, frames: bool = False,
                      timeout: Optional[float] = None, **options: Any) -> AsyncCompletion[Any]:
        request = requests.generate_request(prompt, frames, options)
        return AsyncCompletion(self.inference.Generate(request, timeout))

    async def feedback(self, response_id: str, *, rating: Optional[float] = None,
                       edited_text: Optional[str] = None, accepted: Optional[bool] = None,
                       copied: Optional[bool] = None, regenerated: Optional[bool] = None,
                       idempotency_key: str = "once", metadata: Optional[Mapping[str, str]] = None,
                       timeout: Optional[float] = None) -> learning_pb2.SubmitFeedbackResponse:
        signals = {"rating": rating, "edited_text": edited_text, "accepted": accepted, "copied": copied,
                   "regenerated": regenerated}
        request = requests.feedback_request(response_id, signals, idempotency_key, metadata)
        return await self.learning.SubmitFeedback(request, timeout)

    async def undo(self, undo_token: str, timeout: Optional[float] = None) -> learning_pb2.Change:
        request = learning_pb2.UndoRequest(undo_token=undo_token)
        return (await self.learning.Undo(request, timeout)).change

    async def import_adapter(self, source: files.Source, *, weight: Optional[float] = None,
                             timeout: Optional[float] = None) -> adapter_pb2.Adapter:
        upload = files.Upload(source)
        file = adapter_pb2.AdapterFile(bytes=upload.bytes, weight=weight)
        messages = _messages(upload, adapter_pb2.ImportAdapterRequest, file=file)
        return (await self.adapter.ImportAdapter(messages, timeout)).adapter

    async def export_adapter(self, name: str, to: Union[requests.Path, BinaryIO], *,
                             version: Optional[int] = None, bank: Optional[int] = None,
                             trunk: bool = False, timeout: Optional[float] = None) -> int:
        request = requests.export_request(name, version, bank, trunk)
        async with self.adapter.ExportAdapter(request, timeout) as stream:
            with files.Download(to) as download:
                async for message in stream:
                    download.take(message)
                return download.finish()

    async def add_lessons(self, source: files.Source, *, name: Optional[str] = None, format: int = 0,
                          user_id: str = "", tier: int = 0,
                          timeout: Optional[float] = None) -> learning_pb2.AddLessonsResponse:
        upload = files.Upload(source)
        file = learning_pb2.LessonFile(name=upload.name if name is None else name, format=cast(Any, format),
                                       bytes=upload.bytes, user_id=user_id, tier=cast(Any, tier))
        messages = _messages(upload, learning_pb2.AddLessonsRequest, file=file)
        return await self.learning.AddLessons(messages, timeout)

    async def wait_ready(self, timeout: float = 30.0) -> None:
        try:
            await asyncio.wait_for(self.channel.channel_ready(), timeout)
        except asyncio.TimeoutError:
            raise TimeoutError(f"the node could not be reached within {timeout} s") from None

    async def close(self) -> None:
        await self.channel.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
