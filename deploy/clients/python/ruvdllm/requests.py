# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes requests and channel options from what the helpers of both clients take."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import grpc

from ruvdllm.gen.ruvd.adapter.v1 import adapter_pb2
from ruvdllm.gen.ruvd.inference.v1 import inference_pb2
from ruvdllm.gen.ruvd.learning.v1 import learning_pb2

# The largest answer of a node is a pattern with an adapter of 8 MiB (docs/api.md).
MOST_BYTES = 16 << 20
# Seconds that a call with one answer may take unless it says otherwise: learning one correction on a
# busy machine may take minutes.
TIMEOUT = 300.0

Path = Union[str, "os.PathLike[str]"]
Message = Union[inference_pb2.ChatMessage, Mapping[str, str], Tuple[str, str]]
Prompt = Union[str, Sequence[Message], inference_pb2.Chat, inference_pb2.Infill,
               inference_pb2.GenerateRequest]

_ROLES = {"system": inference_pb2.CHAT_ROLE_SYSTEM, "developer": inference_pb2.CHAT_ROLE_SYSTEM,
          "user": inference_pb2.CHAT_ROLE_USER, "assistant": inference_pb2.CHAT_ROLE_ASSISTANT}
_MODES = {"diffusion": inference_pb2.DECODING_MODE_DIFFUSION,
          "block": inference_pb2.DECODING_MODE_BLOCK,
          "autoregressive": inference_pb2.DECODING_MODE_AUTOREGRESSIVE}
_SAMPLING = set(inference_pb2.SamplingOptions.DESCRIPTOR.fields_by_name)
_DIRECT = {"model", "session_id", "user_id", "session_memory", "json_object", "regex", "gbnf"}
_SIGNALS = ("rating", "edited_text", "accepted", "copied", "regenerated")


def is_local(target: str) -> bool:
    """Returns whether a target of gRPC is on this machine."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    for scheme in ("dns:///", "dns:", "ipv4:", "ipv6:"):
        target = target[len(scheme):] if target.startswith(scheme) else target
    host = target[:target.find("]") + 1] if target.startswith("[") else target.split(":", 1)[0]
    return host in ("localhost", "[::1]") or host.startswith("127.")


def credentials_of(target: str, key: Optional[str], tls_ca: Union[Path, bytes, None],
                   tls: bool) -> Optional[grpc.ChannelCredentials]:
    """Returns how to call a target; None stands for no TLS."""
    if "://" in target and not target.startswith(("dns://", "unix://")):
        raise ValueError(f"the target {target!r} is a URL; give HOST:PORT of api.listen, or unix:PATH")
    if tls_ca is None and not tls:
        if key and not is_local(target):
            raise ValueError(f"the key would go to {target} in plain text; give tls_ca, or tls=True for "
                             "a certificate of a public authority")
        return None
    if tls_ca is not None and not isinstance(tls_ca, bytes):
        with open(tls_ca, "rb") as file:
            tls_ca = file.read()
    return grpc.ssl_channel_credentials(root_certificates=tls_ca)


def options_of(given: Optional[Sequence[Tuple[str, Any]]]) -> List[Tuple[str, Any]]:
    """Returns the options of a channel; what is given stands before the defaults."""
    names = {name for name, _ in given or ()}
    defaults = [("grpc.max_receive_message_length", MOST_BYTES),
                ("grpc.max_send_message_length", MOST_BYTES)]
    return [*(given or ()), *(pair for pair in defaults if pair[0] not in names)]


def metadata_of(key: Optional[str]) -> List[Tuple[str, str]]:
    return [("authorization", f"Bearer {key.strip()}")] if key else []


def _message(message: Message) -> inference_pb2.ChatMessage:
    if isinstance(message, inference_pb2.ChatMessage):
        return message
    role, content = (message["role"], message["content"]) if isinstance(message, Mapping) else message
    if role not in _ROLES:
        raise ValueError(f"the role {role!r} is unknown; use one of {', '.join(_ROLES)}")
    return inference_pb2.ChatMessage(role=_ROLES[role], content=content)


def _put_prompt(request: inference_pb2.GenerateRequest, prompt: Prompt) -> None:
    if isinstance(prompt, str):
        request.prompt = prompt
    elif isinstance(prompt, inference_pb2.Infill):
        request.infill.CopyFrom(prompt)
    elif isinstance(prompt, inference_pb2.Chat):
        request.chat.CopyFrom(prompt)
    else:
        request.chat.messages.extend(_message(message) for message in prompt)  # type: ignore[union-attr]


def _put_option(request: inference_pb2.GenerateRequest, name: str, value: Any) -> None:
    if name == "mode":
        request.sampling.mode = _MODES[value] if isinstance(value, str) else value
    elif name == "stop":
        request.sampling.stop.extend([value] if isinstance(value, str) else value)
    elif name in _SAMPLING:
        setattr(request.sampling, name, value)
    elif name == "json_schema":
        request.json_schema = value if isinstance(value, str) else json.dumps(value)
    elif name == "choices":
        request.choices.texts.extend(value)
    elif name == "adapters":
        request.adapters.CopyFrom(value)
    elif name == "chat_format":
        request.chat.format = value
    elif name in _DIRECT:
        setattr(request, name, value)
    else:
        raise TypeError(f"{name} is no option of SamplingOptions or GenerateRequest")


def generate_request(prompt: Prompt, frames: bool,
                     options: Mapping[str, Any]) -> inference_pb2.GenerateRequest:
    """Returns the request that generate_text() makes. An option of None counts as absent."""
    request = inference_pb2.GenerateRequest()
    if isinstance(prompt, inference_pb2.GenerateRequest):
        request.CopyFrom(prompt)
    else:
        _put_prompt(request, prompt)
    constraints = [name for name in options if options[name] is not None and name in
                   ("json_schema", "json_object", "regex", "choices", "gbnf")]
    if len(constraints) > 1:
        raise ValueError(f"a completion is held to one of {' and '.join(constraints)}; give one")
    for name, value in options.items():
        if value is not None:
            if name == "chat_format" and request.WhichOneof("input") != "chat":
                raise ValueError("chat_format is for a conversation; give messages instead of a text")
            _put_option(request, name, value)
    if frames:
        request.stream_frames = True
    return request


def feedback_request(response_id: str, signals: Dict[str, Any], idempotency_key: str,
                     metadata: Optional[Mapping[str, str]]) -> learning_pb2.SubmitFeedbackRequest:
    given = {name: value for name, value in signals.items() if value is not None}
    if len(given) != 1:
        raise ValueError(f"give one of {', '.join(_SIGNALS)}; {len(given)} are given")
    return learning_pb2.SubmitFeedbackRequest(response_id=response_id, idempotency_key=idempotency_key,
                                              metadata=metadata, **given)


def export_request(name: str, version: Optional[int], bank: Optional[int],
                   trunk: bool) -> adapter_pb2.ExportAdapterRequest:
    if bank is not None and trunk:
        raise ValueError("an export has one bank or the trunk; give one of them")
    request = adapter_pb2.ExportAdapterRequest(
        adapter=adapter_pb2.AdapterRef(name=name, version=version), bank=bank)
    if trunk:
        request.trunk = True
    return request
