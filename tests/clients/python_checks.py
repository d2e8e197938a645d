# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""What the Python client of deploy/clients/python gets from a node, and its examples."""

import asyncio
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import grpc

from checks import Skip, check, equal, facts, text, true
from ruvdllm import (AsyncClient, Client, Error, adapter, aio, inference, items, learning, node, pages,
                     pattern, retrying, witness)

FACTS = facts()
KEYS = FACTS["keys"]
TALK = FACTS["conversation"]
SAMPLING = {"max_tokens": TALK["max_tokens"], "temperature": TALK["temperature"], "seed": TALK["seed"],
            "chat_format": "plain"}


def client(key="contributor"):
    return Client(FACTS["grpc"], KEYS.get(key, key), FACTS["ca"])


def refusal(call, reason, code):
    try:
        call()
    except Error as error:
        equal((error.reason, error.code()), (reason, code), "the reason")
        return error
    raise AssertionError(f"no {reason} came")


def generate():
    with client() as server:
        completion = server.generate_text(TALK["messages"], **SAMPLING)
        equal(completion.started.model, FACTS["model"], "the model")
        pieces = list(completion)
        true(len(pieces) > 1, "the text came in one piece")
        equal(completion.finished.seed, TALK["seed"], "the seed")
        text("python", completion.text)


def generate_over_the_socket():
    with Client(FACTS["socket"]) as server:
        text("python-unix", server.generate_text(TALK["messages"], **SAMPLING).read())


def frames():
    with client() as server:
        completion = server.generate_text(TALK["messages"], frames=True, **SAMPLING)
        found = [piece for piece in completion if not isinstance(piece, str)]
        true(found and found[-1].masked == 0, "the last frame has masks")
        commits = sorted((one.position, one.text) for frame in found for one in frame.commits)
        true("".join(piece for _, piece in commits).startswith(completion.text),
             "the commits are not the text")
        text("python-frames", completion.text)


def leaving():
    with client() as server, Client(FACTS["socket"]) as looker:
        with server.generate_text("Once", max_tokens=400, ignore_end_of_text=True) as completion:
            next(iter(completion))
        equal(list(completion), [])
        for _ in range(100):
            if not looker.node.GetStatus(node.GetStatusRequest()).serving.requests_running:
                return
            time.sleep(0.05)
        raise AssertionError("the node still runs the request")


def embed():
    with client() as server:
        answer = server.inference.Embed(inference.EmbedRequest(texts=["a boat", "a boat", "bread"]))
        one, same, other = (list(each.values) for each in answer.embeddings)
        true(abs(sum(value * value for value in one) - 1) < 1e-3, "the length is not one")
        equal(one, same)
        true(one != other, "two texts have one embedding")


def structured():
    with client() as server:
        schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}},
                  "required": ["age"]}
        got = json.loads(server.generate_text("Who?", json_schema=schema, max_tokens=60, seed=1).read())
        true(isinstance(got["age"], int), "the age is no number")
        equal(server.generate_text("Who?", choices=[" a", " b"], seed=1).read()[:1], " ")


def errors():
    code = grpc.StatusCode
    tokenize = inference.TokenizeRequest(text="x")
    for key in (None, "unknown"):
        with client(key) as server:
            refusal(lambda: server.inference.Tokenize(tokenize), "CALLER_UNKNOWN", code.UNAUTHENTICATED)
    with client("observer") as server:
        refusal(lambda: server.inference.Tokenize(tokenize), "ROLE_MISSING", code.PERMISSION_DENIED)
        server.node.GetStatus(node.GetStatusRequest())
    with client() as server:
        error = refusal(lambda: server.generate_text("x", model="other"), "MODEL_UNKNOWN", code.NOT_FOUND)
        equal(list(error.fields), ["model"])
        error = refusal(lambda: server.generate_text("x", max_tokens=0), "INVALID_ARGUMENT",
                        code.INVALID_ARGUMENT)
        equal(list(error.fields), ["sampling.max_tokens"])
        error = refusal(lambda: server.generate_text("x" * (1 << 20)), "LIMIT_EXCEEDED",
                        code.INVALID_ARGUMENT)
        equal(error.limit, 1 << 20)
        true(error.value > error.limit, "the value is not beyond the limit")
        refusal(lambda: server.generate_text([("user", "x")]), "MODEL_UNSUPPORTED",
                code.FAILED_PRECONDITION)
        refusal(lambda: server.feedback("0" * 32, rating=1), "UNKNOWN_RESPONSE", code.NOT_FOUND)
        refusal(lambda: server.pattern.GetPattern(pattern.GetPatternRequest(id="0" * 32)), "NOT_FOUND",
                code.NOT_FOUND)
        score = inference.ScoreRequest(prompt="x", completion="y " * 200, samples=128)
        try:
            server.inference.Score(score, timeout=0.001)
        except Error as late:
            equal(late.code(), code.DEADLINE_EXCEEDED)
        else:
            raise AssertionError("the deadline had no effect")
    with client("admin") as server:
        refusal(lambda: server.adapter.LoadAdapter(adapter.LoadAdapterRequest(path="/x")),
                "FILE_NOT_FOUND", code.NOT_FOUND)
        request = learning.ListChangesRequest(page_token="none")
        error = refusal(lambda: server.learning.ListChanges(request), "INVALID_ARGUMENT",
                        code.INVALID_ARGUMENT)
        equal(list(error.fields), ["page_token"])


def wrong_fields_have_paths():
    """docs/api.md: BadRequest names the path of a wrong field, such as sampling.steps."""
    missing = []
    with client("admin") as server:
        for options, field in (({"steps": 20000}, "sampling.steps"),
                               ({"temperature": -1}, "sampling.temperature"),
                               ({"regex": "("}, "regex"), ({"json_schema": "{"}, "json_schema")):
            error = refusal(lambda: server.generate_text("x", **options), "INVALID_ARGUMENT",
                            grpc.StatusCode.INVALID_ARGUMENT)
            if list(error.fields) != [field]:
                missing.append(field)
        request = pattern.ListPatternsRequest(page_token="none")
        error = refusal(lambda: server.pattern.ListPatterns(request), "INVALID_ARGUMENT",
                        grpc.StatusCode.INVALID_ARGUMENT)
        if list(error.fields) != ["page_token"]:
            missing.append("page_token of ListPatterns")
    equal(missing, [], "what no BadRequest names")


def key_limit():
    with client("brisk") as server:
        def call():
            return server.inference.Tokenize(inference.TokenizeRequest(text="x"))

        for _ in range(200):
            try:
                call()
            except Error as error:
                equal((error.reason, error.code()), ("KEY_LIMIT", grpc.StatusCode.RESOURCE_EXHAUSTED))
                true(0 < error.retry_after < 60, f"retry_after is {error.retry_after}")
                equal(list(error.quota), ["key"])
                break
        else:
            raise AssertionError("120 requests a minute did not end")
        true(len(retrying(call).tokens) == 1, "the repeat got no answer")


def paging():
    with client("admin") as server:
        vector = server.inference.Embed(inference.EmbedRequest(texts=["a boat"])).embeddings[0].values
        for number in range(5):
            stored = pattern.Pattern(id=f"{number:032x}", task="paging", quality=1, examples=1,
                                     embedding=pattern.Embedding(values=vector))
            server.pattern.UpsertPattern(pattern.UpsertPatternRequest(pattern=stored))
        request = pattern.ListPatternsRequest(page_size=2, filter=pattern.PatternFilter(task="paging"))
        found = list(pages(server.pattern.ListPatterns, request))
        equal([len(page.patterns) for page in found], [2, 2, 1])
        ids = [one.id for one in items(server.pattern.ListPatterns, request)]
        equal(ids, [f"{number:032x}" for number in range(5)])
        hits = server.pattern.SearchPatterns(pattern.SearchPatternsRequest(text="a boat", k=3)).hits
        equal(len(hits), 3)
        true(hits[0].similarity > 0.999, "the nearest pattern is another one")
        for one in ids:
            server.pattern.DeletePattern(pattern.DeletePatternRequest(id=one))
        equal(list(items(server.pattern.ListPatterns, request)), [])
        for _ in range(100):  # entries are stored beside the requests
            hits = items(server.witness.ListEntries, witness.ListEntriesRequest(page_size=2))
            entries = [hit.entry.request_id for hit in hits]
            if len(entries) > 2:
                break
            time.sleep(0.1)
        equal(len(set(entries)), len(entries), "the number of entries that differ")
        true(len(entries) > 2, f"there are only {len(entries)} entries")


def watching():
    with client("admin") as server:
        with server.pattern.WatchPatterns(pattern.WatchPatternsRequest()) as stream:
            equal(next(stream).WhichOneof("event"), "started")
            vector = server.inference.Embed(inference.EmbedRequest(texts=["x"])).embeddings[0].values
            stored = pattern.Pattern(id="ab" * 16, embedding=pattern.Embedding(values=vector))
            server.pattern.UpsertPattern(pattern.UpsertPatternRequest(pattern=stored))
            equal(next(stream).change.pattern.id, "ab" * 16)
            server.pattern.DeletePattern(pattern.DeletePatternRequest(id="ab" * 16))
            equal(next(stream).change.kind, pattern.WatchPatternsResponse.CHANGE_KIND_DELETE)


def asynchronous():
    async def run():
        async with AsyncClient(FACTS["grpc"], KEYS["contributor"], FACTS["ca"]) as server:
            completion = await aio.retrying(lambda: server.generate_text(TALK["messages"], **SAMPLING))
            pieces = [piece async for piece in completion]
            text("python-asyncio", "".join(pieces))
            answers = await asyncio.gather(*(
                server.inference.Embed(inference.EmbedRequest(texts=[one])) for one in ("a", "b", "c")))
            equal(len(answers), 3)
            try:
                await server.generate_text("x", model="other")
            except Error as error:
                equal(error.reason, "MODEL_UNKNOWN")
            else:
                raise AssertionError("no error came")
            request = pattern.ListPatternsRequest(page_size=2)
            equal([one async for one in aio.items(server.pattern.ListPatterns, request)], [])
            async with server.generate_text("Once", max_tokens=400, ignore_end_of_text=True) as endless:
                async for _ in endless:
                    break
    asyncio.run(run())


def gguf(name, targets):
    """Makes a LoRA file that changes nothing: its B factors are zero."""
    def string(value):
        return struct.pack("<Q", len(value)) + value.encode()

    strings = {"general.type": "adapter", "adapter.type": "lora", "general.architecture": "dream",
               "general.name": name}
    pairs = [string(key) + struct.pack("<I", 8) + string(value) for key, value in strings.items()]
    pairs.append(string("adapter.lora.alpha") + struct.pack("<If", 6, 1.0))
    infos, data = [], b""
    for tensor, (columns, rows, rank) in targets.items():
        for suffix, shape, value in (("lora_a", (columns, rank), 0.5), ("lora_b", (rank, rows), 0.0)):
            infos.append(string(f"{tensor}.{suffix}") +
                         struct.pack("<IQQIQ", 2, *shape, 0, len(data)))
            data += struct.pack("<f", value) * (shape[0] * shape[1])
            data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pairs + infos)
    return head + bytes(-len(head) % 32) + data


def adapters():
    targets = {f"blk.{block}.attn_q.weight": (256, 256, 256) for block in range(4)}
    file = gguf("made-here", targets)
    path = Path(FACTS["folder"], "made-here.gguf")
    path.write_bytes(file)
    true(len(file) > 1 << 20, "the file fits one message")
    with client("admin") as server:
        made = server.import_adapter(path, weight=0)
        equal((made.name, made.targets), ("made-here", 4))
        true(any(one.name == "made-here" for one in
                 items(server.adapter.ListAdapters, adapter.ListAdaptersRequest(page_size=1))), "is missing")
        copy = Path(FACTS["folder"], "copy.gguf")
        size = server.export_adapter("made-here", copy)
        equal((size, copy.read_bytes()[:4]), (copy.stat().st_size, b"GGUF"))
        refusal(lambda: server.import_adapter(copy), "INVALID_ARGUMENT", grpc.StatusCode.ALREADY_EXISTS)
        unload = adapter.UnloadAdapterRequest(adapter=adapter.AdapterRef(name="made-here"))
        server.adapter.UnloadAdapter(unload)
        equal(server.import_adapter(copy).id, made.id, "what the exported file changes")
        chosen = inference.AdapterSelection(chosen=[inference.AdapterChoice(name="made-here")])
        used = server.generate_text("The boat", adapters=chosen, max_tokens=4)
        true("made-here" in [one.name for one in used.started.adapters], "the adapter does not act")
        used.read()
        refusal(lambda: server.import_adapter(b"junk" * 1000), "ADAPTER_INVALID",
                grpc.StatusCode.INVALID_ARGUMENT)
        refusal(lambda: server.export_adapter("none", copy), "NOT_FOUND", grpc.StatusCode.NOT_FOUND)
        server.adapter.UnloadAdapter(unload)


def feedback():
    with client() as server, client("admin") as admin:
        completion = server.generate_text("The blue lamp above the rack means", max_tokens=8)
        completion.read()
        correction = " that the second power supply has failed."
        first = server.feedback(completion.response_id, edited_text=correction)
        true(first.changes and first.undo_token, "nothing was learned")
        again = server.feedback(completion.response_id, edited_text=correction)
        equal(again, first, "the answer to a repeat")
        # Responses belong to the key that made them.
        with client("stranger") as other:
            refusal(lambda: other.feedback(completion.response_id, rating=1), "UNKNOWN_RESPONSE",
                    grpc.StatusCode.NOT_FOUND)
        refusal(lambda: server.undo(first.undo_token), "ROLE_MISSING", grpc.StatusCode.PERMISSION_DENIED)
        equal(admin.undo(first.undo_token).undo_token, first.undo_token)
        refusal(lambda: admin.undo(first.undo_token), "CANNOT_UNDO", grpc.StatusCode.FAILED_PRECONDITION)
        tokens = [one.undo_token for one in items(admin.learning.ListChanges,
                                                  learning.ListChangesRequest(page_size=1))]
        true({one.undo_token for one in first.changes} <= set(tokens), "a change is not listed")


def lessons():
    told = "".join(f"The {number}th keeper of the lighthouse wrote his name into the book of the tower, and "
                   "lit the lamp before the ships came home.\n\n" for number in range(200))
    with client("admin") as server:
        added = server.add_lessons(told.encode(), name="tower.txt", user_id="ann")
        true(added.added > 0 and added.source_id, "no lesson was added")
        again = server.add_lessons(told.encode(), name="tower.txt", user_id="ann")
        equal((again.added, again.duplicates), (0, added.added), "a repeat")
        request = learning.ListTextLessonsRequest(source_id=added.source_id, page_size=2)
        equal(len(list(items(server.learning.ListTextLessons, request))), added.added)
        gone = server.learning.WithdrawLessons(learning.WithdrawLessonsRequest(source_id=added.source_id))
        equal((gone.lessons, gone.sources), (added.added, 1))
        refusal(lambda: server.add_lessons(b"\xff\xfe\0a", name="x.txt"), "FILE_UNREADABLE",
                grpc.StatusCode.INVALID_ARGUMENT)
        error = refusal(lambda: server.add_lessons(b"a word " * (3 << 20), name="x.txt"), "LIMIT_EXCEEDED",
                        grpc.StatusCode.RESOURCE_EXHAUSTED)
        equal(error.limit, 16 << 20)


def backup():
    with client("admin") as server:
        last = list(server.store.BackUpStore(node.BackUpStoreRequest(name="checked")))[-1]
        equal(last.WhichOneof("event"), "result")
        true(last.result.files > 0, "the backup has no file")


def example(path):
    key = Path(FACTS["folder"], "admin.key")
    key.write_text(KEYS["admin"], encoding="ascii")
    key.chmod(0o600)
    made = subprocess.run([sys.executable, path, "--server", FACTS["grpc"], "--key-file", key, "--tls-ca",
                           FACTS["ca"]], capture_output=True, text=True, check=False, timeout=120,
                          env=os.environ)
    equal((made.returncode, made.stderr), (0, ""))
    true(made.stdout.strip(), "it printed nothing")


def main():
    if sys.argv[2] == "learn":
        for one in (adapters, feedback, lessons, backup):
            check("python/" + one.__name__, one)
        found = sorted(path for path in Path(FACTS["examples"]).glob("*.py") if path.name != "connect.py")
        if not found:
            raise Skip("the examples are missing")
        for path in found:
            check(f"python/example-{path.stem}", example, path)
        return
    for one in (generate, generate_over_the_socket, frames, leaving, embed, structured, errors,
                wrong_fields_have_paths, key_limit, paging, watching, asynchronous):
        check("python/" + one.__name__.replace("_", "-"), one)


main()
