# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

import asyncio
import io
import os
import tempfile
import unittest

import grpc

from ruvdllm import AsyncClient, Error, aio, files, inference, learning, node, pattern
from tests.fake_node import KEY, FakeNode


class AsyncClientTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.fake = FakeNode()
        self.node = AsyncClient(self.fake.target, key=KEY)

    async def asyncTearDown(self):
        await self.node.close()
        self.fake.stop()

    async def refusal(self, awaitable):
        with self.assertRaises(Error) as caught:
            await awaitable
        return caught.exception

    async def test_text_and_frames_come_in_pieces(self):
        completion = self.node.generate_text("The", frames=True)
        pieces = [type(piece) async for piece in completion]
        self.assertEqual(pieces, [inference.DenoiseFrame, str, inference.DenoiseFrame, str])
        self.assertEqual((completion.text, completion.finished.seed), ("The sea rose.", 7))
        completion = await self.node.generate_text("The")
        self.assertEqual(completion.response_id, "r1")
        self.assertEqual(await completion.read(), "The sea rose.")

    async def test_refusals(self):
        error = await self.refusal(self.node.generate_text("The", model="other"))
        self.assertEqual((error.reason, list(error.fields)), ("MODEL_UNKNOWN", ["model"]))
        error = await self.refusal(self.node.inference.Tokenize(inference.TokenizeRequest()))
        self.assertEqual((error.limit, error.value), (1048576, 2097152))
        error = await self.refusal(self.node.generate_text("The", session_id="breaks").read())
        self.assertEqual((error.reason, error.retry_after), ("NODE_DRAINING", 2.0))
        async with AsyncClient(self.fake.target, key="other") as client:
            error = await self.refusal(client.node.GetStatus(node.GetStatusRequest()))
            self.assertEqual(error.reason, "CALLER_UNKNOWN")

    async def test_leaving_stops_the_work(self):
        async with self.node.generate_text("The", session_id="endless") as completion:
            async for piece in completion:
                self.assertEqual(piece, "The sea")
                break
        self.assertEqual([piece async for piece in completion], [])
        for _ in range(100):
            if self.fake.inference.left:
                break
            await asyncio.sleep(0.05)
        self.assertTrue(self.fake.inference.left)

    async def test_a_task_that_is_cancelled_stays_cancelled(self):
        task = asyncio.ensure_future(self.node.generate_text("The", session_id="endless").read())
        await asyncio.sleep(0.2)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_retrying(self):
        waits = []

        async def wait(seconds):
            waits.append(seconds)
        self.fake.inference.refusals = 2
        completion = await aio.retrying(lambda: self.node.generate_text("The"), sleep=wait)
        self.assertEqual(await completion.read(), "The sea rose.")
        self.assertEqual(len(waits), 2)
        self.assertTrue(waits[1] > waits[0])
        self.assertEqual((await self.refusal(aio.retrying(lambda: self.node.undo("other"), sleep=wait)))
                         .reason, "CANNOT_UNDO")

    async def test_pages(self):
        request = pattern.ListPatternsRequest()
        found = [len(page.patterns) async for page in aio.pages(self.node.pattern.ListPatterns, request)]
        self.assertEqual(found, [3, 3, 1])
        ids = [one.id async for one in aio.items(self.node.pattern.ListPatterns, request)]
        self.assertEqual(len(ids), 7)

    async def test_feedback(self):
        self.assertEqual((await self.node.feedback("r1", rating=1.0)).undo_token, "1-ab")
        self.assertEqual((await self.node.undo("1-ab")).undo_token, "1-ab")

    async def test_files(self):
        data = os.urandom(3 << 20)
        made = await self.node.import_adapter(data)
        self.assertEqual((made.name, self.fake.adapter.stored), ("made", data))
        memory = io.BytesIO()
        self.assertEqual(await self.node.export_adapter("made", memory), len(data))
        self.assertEqual(memory.getvalue(), data)
        self.assertEqual((await self.node.add_lessons(b"x" * 1000, name="x.txt")).added, 10)
        error = await self.refusal(self.node.import_adapter(bytes(20 << 20)))
        self.assertEqual((error.reason, error.limit), ("LIMIT_EXCEEDED", 8 << 20))

    async def test_a_file_that_becomes_shorter_says_so(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(2 << 20))
            file.flush()
            upload = files.Upload(file.name)
            os.truncate(file.name, 1 << 20)
            made = upload.messages(learning.AddLessonsRequest,
                                   file=learning.LessonFile(name="x", bytes=upload.bytes))
            with self.assertRaisesRegex(OSError, "shorter"):
                await self.node.learning.AddLessons(made)

    async def test_waits_for_a_connection(self):
        await self.node.wait_ready()
        async with AsyncClient("127.0.0.1:1") as none:
            with self.assertRaises(TimeoutError):
                await none.wait_ready(0.2)
            error = await self.refusal(none.node.GetStatus(node.GetStatusRequest()))
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)


if __name__ == "__main__":
    unittest.main()
