# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The client for programs without asyncio."""

from __future__ import annotations

from typing import (TYPE_CHECKING, Any, BinaryIO, Generic, Iterator, Literal, Mapping, Optional, Sequence,
                    Tuple, TypeVar, Union, cast, overload)

import grpc

from ruvdllm import calls, files, requests
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

TextOrFrame = Union[str, inference_pb2.DenoiseFrame]
Piece = TypeVar("Piece", bound=TextOrFrame)


class Completion(Generic[Piece]):
    """A completion that is being written: an iterator of its text, and of its frames if they were asked
    for. Leaving the `with` block, or cancel(), stops the node's work.

    Attributes:
      started: what the node said before the first step, with the response_id
      finished: how the completion ended; None before its end
      text: the text so far
    """

    def __init__(self, stream: calls.Stream[inference_pb2.GenerateResponse]) -> None:
        self._stream = stream
        self.started = inference_pb2.Started()
        self.finished: Optional[inference_pb2.Finished] = None
        self.text = ""
        # A refusal is raised here, before any text, so that retrying() may repeat the call.
        self._early = next(self._pieces(), None)

    def _pieces(self) -> Iterator[Optional[TextOrFrame]]:
        """Yields text and frames, and None for what is neither."""
        for response in self._stream:
            event = response.WhichOneof("event")
            if event == "text_delta":
                self.text += response.text_delta.text
                yield response.text_delta.text
            elif event == "denoise_frame":
                yield response.denoise_frame
            else:
                if event == "started":
                    self.started = response.started
                elif event == "finished":
                    self.finished = response.finished
                yield None

    def __iter__(self) -> Iterator[Piece]:
        if self._early is not None:
            early, self._early = self._early, None
            yield cast(Piece, early)
        for piece in self._pieces():
            if piece is not None:
                yield cast(Piece, piece)

    @property
    def response_id(self) -> str:
        """The name of this completion in feedback."""
        return self.started.response_id

    def read(self) -> str:
        """Waits for the end, and returns the whole text."""
        for _ in self:
            pass
        return self.text

    def cancel(self) -> None:
        self._stream.cancel()

    def __enter__(self) -> "Completion[Piece]":
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class Client:
    """A node. Every method raises ruvdllm.Error. Several threads may use one client.

    Attributes: one for each service, with its methods: adapter, authority, cluster, inference, learning,
    node, pattern, privacy, store and witness; and `channel`, gRPC's own.
    """

    def __init__(self, target: str, key: Optional[str] = None,
                 tls_ca: Union[requests.Path, bytes, None] = None, *, tls: bool = False,
                 timeout: Optional[float] = requests.TIMEOUT,
                 options: Optional[Sequence[Tuple[str, Any]]] = None) -> None:
        """Nothing is sent yet.

        Args:
          target: HOST:PORT of the node's api.listen, or unix:PATH of its socket
          key: a key that `ruvd key create` made
          tls_ca: the PEM file, or its bytes, of the authority of the node's certificate, or of this
            certificate itself; without it the connection is plain text, and a key is sent to this
            machine only
          tls: uses TLS and the public authorities that gRPC knows, if there is no tls_ca
          timeout: seconds for each call with one answer that names no timeout
          options: options of the gRPC channel
        """
        credentials = requests.credentials_of(target, key, tls_ca, tls)
        chosen = requests.options_of(options)
        self.channel = (grpc.insecure_channel(target, chosen) if credentials is None else
                        grpc.secure_channel(target, credentials, chosen))
        made: Any = calls.Channel(self.channel, calls.Terms(requests.metadata_of(key), timeout))
        self.adapter = cast("services.AdapterService", adapter_pb2_grpc.AdapterServiceStub(made))
        self.authority = cast("services.AuthorityService", cluster_pb2_grpc.AuthorityServiceStub(made))
        self.cluster = cast("services.ClusterService", cluster_pb2_grpc.ClusterServiceStub(made))
        self.inference = cast("services.InferenceService",
                              inference_pb2_grpc.InferenceServiceStub(made))
        self.learning = cast("services.LearningService", learning_pb2_grpc.LearningServiceStub(made))
        self.node = cast("services.NodeService", node_pb2_grpc.NodeServiceStub(made))
        self.pattern = cast("services.PatternService", pattern_pb2_grpc.PatternServiceStub(made))
        self.privacy = cast("services.PrivacyService", privacy_pb2_grpc.PrivacyServiceStub(made))
        self.store = cast("services.StoreService", node_pb2_grpc.StoreServiceStub(made))
        self.witness = cast("services.WitnessService", witness_pb2_grpc.WitnessServiceStub(made))

    @overload
    def generate_text(self, prompt: requests.Prompt, *, frames: Literal[False] = False,
                      timeout: Optional[float] = None, **options: Any) -> Completion[str]: ...

    @overload
    def generate_text(self, prompt: requests.Prompt, *, frames: Literal[True],
                      timeout: Optional[float] = None, **options: Any) -> Completion[TextOrFrame]: ...

    def generate_text(self, prompt: requests.Prompt, *, frames: bool = False,
                      timeout: Optional[float] = None, **options: Any) -> Completion[Any]:
        """Begins a completion, and returns it when the node has accepted the request.

        Args:
          prompt: a text to continue; messages as (role, content) or {"role": ..., "content": ...}; or a
            Chat, an Infill or a GenerateRequest
          frames: yields a DenoiseFrame for each step, too
          timeout: seconds for the whole completion
          **options: any field of SamplingOptions, such as max_tokens=40, seed=7 or mode="block"; any
            other field of GenerateRequest, such as session_id or regex="..."; json_schema as a text or
            dict, choices as a list of texts, and chat_format, which a model without a chat template
            needs
        """
        request = requests.generate_request(prompt, frames, options)
        return Completion(self.inference.Generate(request, timeout))

    def feedback(self, response_id: str, *, rating: Optional[float] = None,
                 edited_text: Optional[str] = None, accepted: Optional[bool] = None,
                 copied: Optional[bool] = None, regenerated: Optional[bool] = None,
                 idempotency_key: str = "once", metadata: Optional[Mapping[str, str]] = None,
                 timeout: Optional[float] = None) -> learning_pb2.SubmitFeedbackResponse:
        """Says one thing about a completion, from which the node learns.

        If all arguments are equal to those of an earlier call, the node returns the first answer and
        learns nothing more, so that a call that failed can be repeated. Another idempotency_key makes it
        a new one.
        """
        signals = {"rating": rating, "edited_text": edited_text, "accepted": accepted, "copied": copied,
                   "regenerated": regenerated}
        request = requests.feedback_request(response_id, signals, idempotency_key, metadata)
        return self.learning.SubmitFeedback(request, timeout)

    def undo(self, undo_token: str, timeout: Optional[float] = None) -> learning_pb2.Change:
        """Undoes a change that learning made, and returns it."""
        request = learning_pb2.UndoRequest(undo_token=undo_token)
        return self.learning.Undo(request, timeout).change

    def import_adapter(self, source: files.Source, *, weight: Optional[float] = None,
                       timeout: Optional[float] = None) -> adapter_pb2.Adapter:
        """Sends a GGUF file, as a path or bytes, and returns the adapter that the node stored."""
        upload = files.Upload(source)
        file = adapter_pb2.AdapterFile(bytes=upload.bytes, weight=weight)
        messages = upload.messages(adapter_pb2.ImportAdapterRequest, file=file)
        return self.adapter.ImportAdapter(messages, timeout).adapter

    def export_adapter(self, name: str, to: Union[requests.Path, BinaryIO], *,
                       version: Optional[int] = None, bank: Optional[int] = None, trunk: bool = False,
                       timeout: Optional[float] = None) -> int:
        """Writes an adapter to a path or a binary file, and returns its size in bytes.

        At a path the file appears when it is whole. `bank` and `trunk` choose a part of an adapter with
        banks.
        """
        request = requests.export_request(name, version, bank, trunk)
        with self.adapter.ExportAdapter(request, timeout) as stream, files.Download(to) as download:
            for message in stream:
                download.take(message)
            return download.finish()

    def add_lessons(self, source: files.Source, *, name: Optional[str] = None, format: int = 0,
                    user_id: str = "", tier: int = 0,
                    timeout: Optional[float] = None) -> learning_pb2.AddLessonsResponse:
        """Gives the node a text to learn from, as a path or bytes. Bytes need a name.

        `format` is one of learning.LessonFile.Format, and `tier` one of privacy.SharingTier.
        """
        upload = files.Upload(source)
        file = learning_pb2.LessonFile(name=upload.name if name is None else name, format=cast(Any, format),
                                       bytes=upload.bytes, user_id=user_id, tier=cast(Any, tier))
        messages = upload.messages(learning_pb2.AddLessonsRequest, file=file)
        return self.learning.AddLessons(messages, timeout)

    def wait_ready(self, timeout: float = 30.0) -> None:
        """Waits for a connection, and raises TimeoutError after `timeout` seconds without one."""
        try:
            grpc.channel_ready_future(self.channel).result(timeout)
        except grpc.FutureTimeoutError:
            raise TimeoutError(f"the node could not be reached within {timeout} s") from None

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
