# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

import io
import os
import tempfile
import threading
import unittest

import grpc

from ruvdllm import Client, Error, inference, items, learning, node, pages, pattern, retrying
from tests.fake_node import KEY, FakeNode


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.fake = FakeNode()
        self.addCleanup(self.fake.stop)
        self.node = Client(self.fake.target)
        self.addCleanup(self.node.close)

    def refusal(self, call):
        with self.assertRaises(Error) as caught:
            call()
        return caught.exception

    def test_text_comes_in_pieces(self):
        with self.node.generate_text("The", max_tokens=2) as completion:
            self.assertEqual(completion.response_id, "r1")
            self.assertIsNone(completion.finished)
            self.assertEqual(list(completion), ["The sea", " rose."])
            self.assertEqual(completion.text, "The sea rose.")
            self.assertEqual(completion.finished.seed, 7)

    def test_frames_come_between_the_text_if_asked_for(self):
        pieces = list(self.node.generate_text("The", frames=True))
        self.assertEqual([type(piece) for piece in pieces],
                         [inference.DenoiseFrame, str, inference.DenoiseFrame, str])

    def test_a_refusal_is_raised_before_the_first_text(self):
        error = self.refusal(lambda: self.node.generate_text("The", model="other"))
        self.assertEqual((error.reason, error.code()), ("MODEL_UNKNOWN", grpc.StatusCode.NOT_FOUND))
        self.assertEqual(error.fields, {"model": "another model is served"})
        self.assertIsNone(error.retry_after)
        self.assertIsInstance(error, grpc.RpcError)

    def test_an_error_within_a_stream_keeps_the_text(self):
        completion = self.node.generate_text("The", session_id="breaks")
        error = self.refusal(completion.read)
        self.assertEqual((error.reason, error.retry_after), ("NODE_DRAINING", 2.0))
        self.assertEqual(completion.text, "The sea rose.")

    def test_leaving_stops_the_work(self):
        with self.node.generate_text("The", session_id="endless") as completion:
            self.assertEqual(next(iter(completion)), "The sea")
        self.assertEqual(list(completion), [])
        done = threading.Event()
        for _ in range(100):
            if self.fake.inference.left or done.wait(0.05):
                break
        self.assertTrue(self.fake.inference.left)

    def test_errors_say_limits_and_quotas(self):
        error = self.refusal(lambda: self.node.inference.Tokenize(inference.TokenizeRequest()))
        self.assertEqual((error.limit, error.value), (1048576, 2097152))
        error = self.refusal(lambda: self.node.inference.Score(inference.ScoreRequest()))
        self.assertEqual((error.reason, error.retry_after), ("KEY_LIMIT", 31.25))
        self.assertEqual(list(error.quota), ["key"])

    def test_a_node_that_cannot_be_reached_has_no_reason(self):
        self.fake.stop()
        error = self.refusal(lambda: self.node.node.GetStatus(node.GetStatusRequest()))
        self.assertEqual((error.reason, error.code()), ("", grpc.StatusCode.UNAVAILABLE))

    def test_the_key_and_a_deadline_go_with_every_call(self):
        with Client(self.fake.target, key=KEY + "\n", timeout=9) as client:
            client.node.GetStatus(node.GetStatusRequest(), metadata=[("more", "1")])
            client.node.GetStatus(node.GetStatusRequest(), timeout=5)
        (metadata, left), (_, less) = self.fake.info.seen
        self.assertEqual((metadata["authorization"], metadata["more"]), (f"Bearer {KEY}", "1"))
        self.assertAlmostEqual(left, 9, delta=1.5)
        self.assertAlmostEqual(less, 5, delta=1.5)

    def test_an_unknown_key_has_its_reason(self):
        with Client(self.fake.target, key="other") as client:
            error = self.refusal(lambda: client.node.GetStatus(node.GetStatusRequest()))
            self.assertEqual(error.reason, "CALLER_UNKNOWN")

    def test_a_key_leaves_this_machine_under_tls_only(self):
        with self.assertRaisesRegex(ValueError, "plain text"):
            Client("node.example:7420", key=KEY)
        for local in ("localhost:1", "127.0.0.9:1", "[::1]:1", "unix:/tmp/x.sock", "dns:///localhost:1"):
            Client(local, key=KEY).close()
        Client("node.example:7420", key=KEY, tls=True).close()
        with self.assertRaisesRegex(ValueError, "URL"):
            Client("https://node.example:7420")

    def test_retrying_waits_longer_each_time(self):
        self.fake.inference.refusals = 3
        waits = []
        completion = retrying(lambda: self.node.generate_text("The"), sleep=waits.append)
        self.assertEqual(completion.read(), "The sea rose.")
        self.assertEqual(len(waits), 3)
        for wait, least in zip(waits, (0.2, 0.4, 0.8)):
            self.assertTrue(least <= wait <= 1.25 * least, waits)

    def test_retrying_gives_up(self):
        waits = []
        self.fake.inference.refusals = 100
        with self.assertRaises(Error):
            retrying(lambda: self.node.generate_text("The"), attempts=3, sleep=waits.append)
        self.assertEqual(len(waits), 2)
        with self.assertRaises(Error):  # what passes never is not repeated
            retrying(lambda: self.node.undo("other"), sleep=waits.append)
        with self.assertRaises(Error):  # 31 s are beyond the patience
            retrying(lambda: self.node.inference.Score(inference.ScoreRequest()), patience=30,
                     sleep=waits.append)
        self.assertEqual(len(waits), 2)

    def test_pages_follow_their_tokens(self):
        request = pattern.ListPatternsRequest(page_size=3)
        found = [len(page.patterns) for page in pages(self.node.pattern.ListPatterns, request)]
        self.assertEqual(found, [3, 3, 1])
        self.assertEqual(request.page_token, "")  # the caller's request is as it was
        ids = [one.id for one in items(self.node.pattern.ListPatterns, request)]
        self.assertEqual(ids, [str(number) for number in range(7)])
        error = self.refusal(lambda: list(pages(self.node.pattern.ListPatterns,
                                                pattern.ListPatternsRequest(page_token="unknown"))))
        self.assertEqual(list(error.fields), ["page_token"])

    def test_feedback_says_one_thing(self):
        self.assertTrue(self.node.feedback("r1", rating=0.0).learned)
        self.node.feedback("r1", edited_text="x", idempotency_key="k", metadata={"a": "b"})
        rated, edited = self.fake.learning.feedback
        self.assertEqual((rated.WhichOneof("signal"), rated.rating), ("rating", 0.0))
        self.assertTrue(rated.idempotency_key)
        self.assertEqual((edited.edited_text, edited.idempotency_key, dict(edited.metadata)),
                         ("x", "k", {"a": "b"}))
        for wrong in ({}, {"rating": 1.0, "accepted": True}):
            with self.assertRaisesRegex(ValueError, "give one of"):
                self.node.feedback("r1", **wrong)
        self.assertEqual(self.node.undo("1-ab").undo_token, "1-ab")
        self.assertEqual(self.refusal(lambda: self.node.undo("2-cd")).reason, "CANNOT_UNDO")

    def test_an_adapter_goes_and_comes_in_pieces(self):
        data = os.urandom(3 << 20)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "one.gguf")
            with open(path, "wb") as file:
                file.write(data)
            self.assertEqual(self.node.import_adapter(path, weight=0.5).name, "made")
            self.assertTrue(max(self.fake.adapter.pieces) <= 1 << 20)
            copy = os.path.join(folder, "copy.gguf")
            self.assertEqual(self.node.export_adapter("made", copy), len(data))
            with open(copy, "rb") as file:
                self.assertEqual(file.read(), data)
            memory = io.BytesIO()
            self.node.export_adapter("made", memory)
            self.assertEqual(memory.getvalue(), data)
            self.fake.adapter.announces = 1
            error = self.refusal(lambda: self.node.export_adapter("made", copy))
            self.assertEqual(error.code(), grpc.StatusCode.DATA_LOSS)
            self.refusal(lambda: self.node.export_adapter("other", copy))
            self.assertEqual(sorted(os.listdir(folder)), ["copy.gguf", "one.gguf"])

    def test_an_early_refusal_of_a_file_is_the_nodes(self):
        error = self.refusal(lambda: self.node.import_adapter(bytes(20 << 20)))
        self.assertEqual((error.reason, error.limit), ("LIMIT_EXCEEDED", 8 << 20))

    def test_a_file_that_becomes_shorter_says_so(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(2 << 20))
            file.flush()
            from ruvdllm import files
            upload = files.Upload(file.name)
            os.truncate(file.name, 1 << 20)
            made = upload.messages(learning.AddLessonsRequest,
                                   file=learning.LessonFile(name="x", bytes=upload.bytes))
            with self.assertRaisesRegex(OSError, "shorter"):
                self.node.learning.AddLessons(made)

    def test_lessons_have_the_name_of_their_file(self):
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            file.write(b"a line\n" * 100)
            file.flush()
            self.assertEqual(self.node.add_lessons(file.name, user_id="ann").added, 7)
            sent = self.fake.learning.file
            self.assertEqual((sent.name, sent.bytes, sent.user_id),
                             (os.path.basename(file.name), 700, "ann"))
        self.node.add_lessons(b"", name="none.md")
        self.assertEqual((self.fake.learning.file.name, self.fake.learning.text), ("none.md", b""))

    def test_waits_for_a_connection(self):
        self.node.wait_ready()
        with Client("127.0.0.1:1") as none, self.assertRaises(TimeoutError):
            none.wait_ready(0.2)


if __name__ == "__main__":
    unittest.main()
