# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""What curl gets from a node: OpenAI's API, the Connect protocol, and errors of both."""

import base64
import json
import subprocess
import sys
from urllib.parse import quote

from checks import Skip, check, equal, facts, text, true

FACTS = facts()
KEYS = FACTS["keys"]
JSON = "application/json"
TOKENIZE = "/ruvd.inference.v1.InferenceService/Tokenize"
GENERATE = "/ruvd.inference.v1.InferenceService/Generate"


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.fields = {name.lower(): value.strip() for name, _, value in
                       (line.partition(":") for line in lines[1:])}

    def json(self):
        return json.loads(self.body)

    def error(self):
        return self.json()["error"]


def curl(path, body=None, *more, key="contributor", content_type=JSON):
    command = ["curl", "-sS", "-i", "-N", "--max-time", "60", "--cacert", FACTS["ca"], *more]
    if key is not None:
        command += ["-H", f"Authorization: Bearer {KEYS.get(key, key)}"]
    if body is not None:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        command += ["-H", f"Content-Type: {content_type}", "--data-binary", "@-"]
    else:
        sent = b""
    # A proxy has no part in a call to this machine.
    made = subprocess.run([*command, "--noproxy", "*", FACTS["http"] + path], input=sent,
                          capture_output=True, check=False)
    if made.returncode != 0:
        raise AssertionError(f"curl ended with {made.returncode}: {made.stderr.decode()}")
    return Answer(made.stdout)


def chat(**more):
    talk = FACTS["conversation"]
    return {"messages": talk["messages"], "max_tokens": talk["max_tokens"], "seed": talk["seed"],
            "temperature": talk["temperature"], **more}


def grpc_chat():
    """Returns the conversation as a GenerateRequest in JSON."""
    talk = FACTS["conversation"]
    messages = [{"role": f"CHAT_ROLE_{one['role'].upper()}", "content": one["content"]}
                for one in talk["messages"]]
    return {"chat": {"messages": messages, "format": "plain"},
            "sampling": {"maxTokens": talk["max_tokens"], "seed": str(talk["seed"]),
                         "temperature": talk["temperature"]}}


def events(answer):
    """Returns the objects of a stream of server-sent events, without the last one, [DONE]."""
    datas = [event.removeprefix("data: ") for event in answer.body.decode().split("\n\n")
             if event.startswith("data: ")]
    equal(datas[-1], "[DONE]", "the last event")
    return [json.loads(data) for data in datas[:-1]]


def envelopes(body):
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at + 1:at + 5], "big")
        yield body[at], json.loads(body[at + 5:at + 5 + size])
        at += 5 + size
    equal(at, len(body), "the end of the last envelope")


def reasons(error):
    """Returns the bytes of the ErrorInfo of an error of Connect."""
    for detail in error.get("details", []):
        if detail["type"] == "google.rpc.ErrorInfo":
            return base64.b64decode(detail["value"] + "==")
    raise AssertionError(f"the error has no ErrorInfo: {error}")


def models():
    answer = curl("/v1/models")
    equal(answer.status, 200)
    true(any(one["id"] == FACTS["model"] for one in answer.json()["data"]), "the model is not listed")
    equal(curl(f"/v1/models/{FACTS['model']}").json()["object"], "model")


def probes():
    for path in ("/livez", "/readyz", "/health", "/healthz"):
        equal(curl(path, key=None).status, 200, path)


def openai_chat():
    answer = curl("/v1/chat/completions", chat())
    equal(answer.status, 200)
    equal(answer.fields["content-type"], JSON)
    body = answer.json()
    equal(body["object"], "chat.completion")
    usage = body["usage"]
    equal(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
    equal(body["ruvd"]["seed"], FACTS["conversation"]["seed"], "ruvd.seed")
    text("curl-openai", body["choices"][0]["message"]["content"])


def openai_stream():
    answer = curl("/v1/chat/completions", chat(stream=True, stream_options={"include_usage": True}))
    true(answer.fields["content-type"].startswith("text/event-stream"), "it is no event stream")
    parts = events(answer)
    true(parts[-1]["usage"]["completion_tokens"] > 0, "the last event has no usage")
    got = "".join(one["choices"][0]["delta"].get("content") or "" for one in parts if one["choices"])
    text("curl-openai-stream", got)


def openai_completion():
    body = curl("/v1/completions", {"prompt": "The boat", "max_tokens": 4, "seed": 1}).json()
    equal(body["object"], "text_completion")
    true(body["choices"][0]["text"], "there is no text")


def openai_embeddings():
    floats = curl("/v1/embeddings", {"input": ["a boat", "the sea"]}).json()["data"]
    equal([one["index"] for one in floats], [0, 1])
    packed = curl("/v1/embeddings", {"input": "a boat", "encoding_format": "base64"}).json()["data"]
    equal(len(base64.b64decode(packed[0]["embedding"])), 4 * len(floats[0]["embedding"]), "bytes")


def connect_unary():
    answer = curl(TOKENIZE, {"text": "The boat"})
    equal((answer.status, answer.fields["content-type"]), (200, JSON))
    true(len(answer.json()["tokens"]) >= 2, "there are too few tokens")


def connect_get():
    wanted = curl(TOKENIZE, {"text": "a+b & ü"}).json()
    message = json.dumps({"text": "a+b & ü"})
    packed = base64.urlsafe_b64encode(message.encode()).decode().rstrip("=")
    for query in (f"message={quote(message)}", f"base64=1&message={packed}"):
        answer = curl(f"{TOKENIZE}?connect=v1&encoding=json&{query}")
        equal((answer.status, answer.json()), (200, wanted))
    # Only what changes nothing may be called so.
    answer = curl("/ruvd.learning.v1.LearningService/PauseLearning?connect=v1&encoding=json&message=%7B%7D",
                  key="admin")
    equal((answer.status, answer.fields.get("allow")), (405, "POST"))


def connect_binary():
    answer = curl(TOKENIZE, b"\x12\x08The boat", content_type="application/proto")
    equal((answer.status, answer.fields["content-type"]), (200, "application/proto"))
    equal(answer.body[:1], b"\x0a", "the first tag")


def connect_stream():
    sent = json.dumps(grpc_chat()).encode()
    answer = curl(GENERATE, b"\0" + len(sent).to_bytes(4, "big") + sent,
                  content_type="application/connect+json")
    equal((answer.status, answer.fields["content-type"]), (200, "application/connect+json"))
    found = list(envelopes(answer.body))
    equal(found[-1], (2, {}), "the end of the stream")
    true("started" in found[0][1] and "finished" in found[-2][1], "started or finished is missing")
    text("curl-connect", "".join(one.get("textDelta", {}).get("text", "") for _, one in found))


def connect_stream_error():
    sent = b'{"prompt": "x", "model": "other"}'
    answer = curl(GENERATE, b"\0" + len(sent).to_bytes(4, "big") + sent,
                  content_type="application/connect+json")
    equal(answer.status, 200, "the status of a stream")
    (flags, end), = envelopes(answer.body)
    equal((flags, end["error"]["code"]), (2, "not_found"))
    true(b"MODEL_UNKNOWN" in reasons(end["error"]), "the reason is another one")


def connect_timeout():
    answer = curl(TOKENIZE, {"text": "x"}, "-H", "Connect-Timeout-Ms: soon")
    equal((answer.status, answer.json()["code"]), (400, "invalid_argument"))
    answer = curl("/ruvd.inference.v1.InferenceService/Score", {"prompt": "x", "completion": "y " * 200,
                  "samples": 128}, "-H", "Connect-Timeout-Ms: 1")
    equal((answer.status, answer.json()["code"]), (504, "deadline_exceeded"))


def connect_errors():
    for path, body, key, status, code, reason in (
            (TOKENIZE, {"text": "x"}, None, 401, "unauthenticated", b"CALLER_UNKNOWN"),
            (TOKENIZE, {"text": "x"}, "observer", 403, "permission_denied", b"ROLE_MISSING"),
            (TOKENIZE, {"text": "x", "model": "other"}, "contributor", 404, "not_found",
             b"MODEL_UNKNOWN"),
            (TOKENIZE, b"{", "contributor", 400, "invalid_argument", b"JSON_INVALID"),
            (GENERATE, {"prompt": "x"}, "contributor", 415, "invalid_argument", b"MEDIA_TYPE_UNSUPPORTED"),
            ("/ruvd.learning.v1.LearningService/Undo", {"undoToken": ""}, "admin", 400,
             "invalid_argument", b"INVALID_ARGUMENT")):
        answer = curl(path, body, key=key)
        equal((answer.status, answer.json()["code"]), (status, code), f"{path} with {body}")
        true(reason in reasons(answer.json()), f"{path}: {reason} is not in {answer.body}")
    equal(curl(TOKENIZE, b"x", content_type="text/plain").status, 415)
    equal(curl("/ruvd.inference.v1.InferenceService/Nothing", {}).status, 404)


def openai_errors():
    path = "/v1/chat/completions"
    user = [{"role": "user", "content": "x"}]
    for body, key, status, code, param in (
            ({"messages": user}, None, 401, "invalid_api_key", None),
            ({"messages": user}, "none", 401, "invalid_api_key", None),
            ({"messages": user}, "observer", 403, "insufficient_permissions", None),
            ({"messages": user, "model": "other"}, "contributor", 404, "model_not_found", "model"),
            ({"messages": user, "tools": [{}]}, "contributor", 400, "unsupported_parameter", "tools"),
            ({"messages": [{"role": "user", "content": 7}]}, "contributor", 400, None,
             "messages[0].content"),
            (b"{", "contributor", 400, "invalid_json", None),
            ({"messages": user, "max_tokens": 100000}, "contributor", 400, "context_length_exceeded",
             None)):
        answer = curl(path, body, key=key)
        error = answer.error()
        equal(set(error), {"message", "type", "param", "code"}, "the names of the error")
        equal(answer.status, status, f"the status for {body}")
        if code:
            equal(error["code"], code, f"the code for {body}")
        if param:
            equal(error["param"], param, f"the param for {body}")
    answer = curl(path)
    equal((answer.status, answer.fields.get("allow")), (405, "POST"))
    equal(curl(path, b"x", content_type="text/plain").error()["code"], "media_type_unsupported")
    equal(curl("/v1/nothing").error()["code"], "unknown_url")


def rate_limit():
    for _ in range(3):
        answer = curl("/v1/embeddings", {"input": "x"}, key="poor")
    equal((answer.status, answer.error()["code"]), (429, "rate_limit_exceeded"))
    true(1 <= int(answer.fields["retry-after"]) <= 60, "Retry-After is not within a minute")
    answer = curl(TOKENIZE, {"text": "x"}, key="poor")
    equal(answer.status, 429, "the status over Connect of a key that has used its requests")
    equal(answer.json()["code"], "resource_exhausted")
    true("retry-after" in answer.fields, "an error of Connect has no Retry-After")


def foreign_certificate():
    made = subprocess.run(["curl", "-sS", "--noproxy", "*", FACTS["http"] + "/livez"],
                          capture_output=True, check=False)
    if made.returncode == 0:
        raise Skip("curl trusts every certificate here")
    equal(made.returncode, 60, "the exit status of curl")  # the certificate is not trusted


def feedback():
    made = curl("/v1/completions", {"prompt": "The little boat", "max_tokens": 8}).json()
    sent = {"id": made["id"], "edited_text": " sailed home at dawn.", "idempotency_key": "curl"}
    first = curl("/v1/feedback", sent)
    equal(first.status, 200)
    equal(curl("/v1/feedback", sent).body, first.body, "the answer to a repeat")
    answer = curl("/v1/feedback", {**sent, "id": "0" * 32})
    equal((answer.status, answer.error()["code"]), (404, "unknown_response"))
    answer = curl("/v1/feedback", {"id": made["id"], "rating": 3})
    equal((answer.status, answer.error()["param"]), (400, "rating"))


def main():
    if sys.argv[2] == "learn":
        check("curl/feedback", feedback)
        return
    for one in (models, probes, openai_chat, openai_stream, openai_completion, openai_embeddings,
                openai_errors, connect_unary, connect_get, connect_binary, connect_stream,
                connect_stream_error, connect_timeout, connect_errors, rate_limit, foreign_certificate):
        check("curl/" + one.__name__.replace("_", "-"), one)


main()
