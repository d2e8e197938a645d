# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""A node in this process that answers as a real one does, without a model."""

import hashlib
from concurrent import futures

import grpc

from ruvdllm import adapter, inference, learning, node, pattern
from ruvdllm.gen.ruvd.adapter.v1 import adapter_pb2_grpc
from ruvdllm.gen.ruvd.inference.v1 import inference_pb2_grpc
from ruvdllm.gen.ruvd.learning.v1 import learning_pb2_grpc
from ruvdllm.gen.ruvd.node.v1 import node_pb2_grpc
from ruvdllm.gen.ruvd.pattern.v1 import pattern_pb2_grpc

KEY = "ruvd-key-0123"


def varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def part(number, value):
    """Encodes a text, a message or a number as a field."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def details(code, message, *, reason="", fields=(), retry=None, limit=None, quota=None):
    """Encodes a google.rpc.Status as a node does."""
    info = part(1, reason) + part(2, "ruvd")
    for key, value in zip(("limit", "value"), limit or ()):
        info += part(3, part(1, key) + part(2, str(value)))
    found = [("ErrorInfo", info)]
    for field in fields:
        found.append(("BadRequest", part(1, part(1, field) + part(2, message))))
    if retry is not None:
        found.append(("RetryInfo", part(1, part(1, int(retry)) + part(2, round(retry % 1 * 1e9)))))
    if quota is not None:
        found.append(("QuotaFailure", part(1, part(1, quota) + part(2, message))))
    encoded = part(1, code.value[0]) + part(2, message)
    for name, value in found:
        encoded += part(3, part(1, f"type.googleapis.com/google.rpc.{name}") + part(2, value))
    return encoded


def fail(context, code, message, **said):
    context.set_trailing_metadata((("grpc-status-details-bin", details(code, message, **said)),))
    context.abort(code, message)


class Inference(inference_pb2_grpc.InferenceServiceServicer):
    def __init__(self):
        self.requests = []
        self.refusals = 0  # of the next calls
        self.left = False  # whether a caller left before the end

    def Generate(self, request, context):
        self.requests.append(request)
        if self.refusals:
            self.refusals -= 1
            fail(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full", reason="MAILBOX_FULL",
                 retry=0.2)
        if request.model not in ("", "fake"):
            fail(context, grpc.StatusCode.NOT_FOUND, "another model is served", reason="MODEL_UNKNOWN",
                 fields=["model"])
        context.add_callback(lambda: setattr(self, "left", not context.code()))
        yield inference.GenerateResponse(started=inference.Started(response_id="r1", window=2))
        for number, text in enumerate(("The sea", " rose.")):
            if request.stream_frames:
                frame = inference.DenoiseFrame(step=number)
                yield inference.GenerateResponse(denoise_frame=frame)
            yield inference.GenerateResponse(text_delta=inference.TextDelta(text=text))
        if request.session_id == "breaks":
            fail(context, grpc.StatusCode.UNAVAILABLE, "the node stops", reason="NODE_DRAINING", retry=2)
        while request.session_id == "endless" and context.is_active():
            yield inference.GenerateResponse(text_delta=inference.TextDelta(text=" more"))
        yield inference.GenerateResponse(finished=inference.Finished(response_id="r1", seed=7))

    def Embed(self, request, context):
        if not request.texts:
            fail(context, grpc.StatusCode.INVALID_ARGUMENT, "the request has 0 texts",
                 reason="INVALID_ARGUMENT", fields=["texts"])
        vectors = [inference.TextEmbedding(values=[1.0, 0.0], tokens=len(text)) for text in request.texts]
        return inference.EmbedResponse(embeddings=vectors)

    def Tokenize(self, request, context):
        fail(context, grpc.StatusCode.INVALID_ARGUMENT, "too much text", reason="LIMIT_EXCEEDED",
             limit=(1048576, 2097152))

    def Score(self, request, context):
        fail(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "the key has used it", reason="KEY_LIMIT",
             retry=31.25, quota="key")


class Learning(learning_pb2_grpc.LearningServiceServicer):
    def __init__(self):
        self.feedback = []
        self.file = None
        self.text = b""

    def SubmitFeedback(self, request, context):
        self.feedback.append(request)
        return learning.SubmitFeedbackResponse(learned=True, undo_token="1-ab")

    def Undo(self, request, context):
        if request.undo_token != "1-ab":
            fail(context, grpc.StatusCode.FAILED_PRECONDITION, "it was undone", reason="CANNOT_UNDO")
        return learning.UndoResponse(change=learning.Change(undo_token=request.undo_token))

    def AddLessons(self, requests, context):
        self.text = b""
        for request in requests:
            if request.WhichOneof("part") == "file":
                self.file = request.file
            else:
                self.text += request.data
        return learning.AddLessonsResponse(added=len(self.text) // 100)


class Adapter(adapter_pb2_grpc.AdapterServiceServicer):
    def __init__(self):
        self.stored = b""
        self.pieces = []
        self.announces = 0  # bytes more than there are

    def ImportAdapter(self, requests, context):
        self.stored, self.pieces, size = b"", [], 0
        for request in requests:
            if request.WhichOneof("part") == "file":
                size = request.file.bytes
                if size > 8 << 20:
                    fail(context, grpc.StatusCode.INVALID_ARGUMENT, "the file is too large",
                         reason="LIMIT_EXCEEDED", limit=(8 << 20, size))
            else:
                self.pieces.append(len(request.data))
                self.stored += request.data
        if len(self.stored) != size:
            fail(context, grpc.StatusCode.INVALID_ARGUMENT, "other bytes came", reason="INVALID_ARGUMENT")
        made = adapter.Adapter(name="made", id=hashlib.sha256(self.stored).hexdigest())
        return adapter.ImportAdapterResponse(adapter=made)

    def ExportAdapter(self, request, context):
        if request.adapter.name != "made":
            fail(context, grpc.StatusCode.NOT_FOUND, "there is no such adapter", reason="NOT_FOUND")
        total = len(self.stored) + self.announces
        for at in range(0, len(self.stored), 1000):
            yield adapter.ExportAdapterResponse(total_bytes=total, data=self.stored[at:at + 1000])


class Patterns(pattern_pb2_grpc.PatternServiceServicer):
    def ListPatterns(self, request, context):
        if request.page_token == "unknown":
            fail(context, grpc.StatusCode.INVALID_ARGUMENT, "no page has this token",
                 reason="INVALID_ARGUMENT", fields=["page_token"])
        first = int(request.page_token or 0)
        size = request.page_size or 3
        found = [pattern.Pattern(id=str(number)) for number in range(first, min(7, first + size))]
        token = str(first + size) if first + size < 7 else ""
        return pattern.ListPatternsResponse(patterns=found, next_page_token=token)


class NodeInfo(node_pb2_grpc.NodeServiceServicer):
    def __init__(self):
        self.seen = []

    def GetStatus(self, request, context):
        self.seen.append((dict(context.invocation_metadata()), context.time_remaining()))
        return node.GetStatusResponse(node=node.NodeStatus(name="fake"))


class Keys(grpc.ServerInterceptor):
    """Refuses a wrong key without details, as gRPC itself does."""

    def intercept_service(self, continuation, details_of_call):
        shown = dict(details_of_call.invocation_metadata).get("authorization")
        handler = continuation(details_of_call)
        if shown in (None, f"Bearer {KEY}") or handler is None:
            return handler

        def refuse(_request, context):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the key is unknown")
        return grpc.unary_unary_rpc_method_handler(refuse)


class FakeNode:
    """The services and the server, which has a port of its own on loopback."""

    def __init__(self):
        self.inference, self.learning, self.adapter = Inference(), Learning(), Adapter()
        self.info = NodeInfo()
        self.server = grpc.server(futures.ThreadPoolExecutor(4), interceptors=[Keys()])
        inference_pb2_grpc.add_InferenceServiceServicer_to_server(self.inference, self.server)
        learning_pb2_grpc.add_LearningServiceServicer_to_server(self.learning, self.server)
        adapter_pb2_grpc.add_AdapterServiceServicer_to_server(self.adapter, self.server)
        pattern_pb2_grpc.add_PatternServiceServicer_to_server(Patterns(), self.server)
        node_pb2_grpc.add_NodeServiceServicer_to_server(self.info, self.server)
        self.target = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def stop(self):
        self.server.stop(None).wait()
