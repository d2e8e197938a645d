# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

import json
import unittest

from ruvdllm import inference, requests


def made(prompt, frames=False, **options):
    return requests.generate_request(prompt, frames, options)


class GenerateRequestTest(unittest.TestCase):
    def test_every_option_finds_its_field(self):
        request = made("x", frames=True, max_tokens=3, seed=0, temperature=0.5, mode="block",
                       stop=["a", "b"], session_id="s", session_memory=False, user_id="u")
        self.assertEqual((request.prompt, request.stream_frames), ("x", True))
        sampling = request.sampling
        self.assertEqual((sampling.max_tokens, sampling.temperature, list(sampling.stop)),
                         (3, 0.5, ["a", "b"]))
        self.assertEqual(sampling.mode, inference.DECODING_MODE_BLOCK)
        self.assertTrue(sampling.HasField("seed") and request.HasField("session_memory"))
        self.assertEqual((request.session_id, request.user_id), ("s", "u"))

    def test_what_is_none_is_absent(self):
        request = made("x", seed=None, steps=None)
        self.assertFalse(request.HasField("sampling"))

    def test_conversations(self):
        for message in (("user", "hi"), {"role": "user", "content": "hi"},
                        inference.ChatMessage(role=inference.CHAT_ROLE_USER, content="hi")):
            request = made([("system", "be kind"), message], chat_format="plain")
            self.assertEqual([one.role for one in request.chat.messages],
                             [inference.CHAT_ROLE_SYSTEM, inference.CHAT_ROLE_USER])
            self.assertEqual((request.chat.messages[1].content, request.chat.format), ("hi", "plain"))
        with self.assertRaisesRegex(ValueError, "role"):
            made([("robot", "hi")])
        with self.assertRaisesRegex(ValueError, "chat_format"):
            made("text", chat_format="plain")

    def test_constraints(self):
        schema = {"type": "object"}
        self.assertEqual(json.loads(made("x", json_schema=schema).json_schema), schema)
        self.assertEqual(made("x", json_schema='{"type": "null"}').json_schema, '{"type": "null"}')
        self.assertEqual(list(made("x", choices=["a", "b"]).choices.texts), ["a", "b"])
        self.assertEqual(made("x", regex="a+").regex, "a+")
        with self.assertRaisesRegex(ValueError, "one of"):
            made("x", regex="a", choices=["a"])

    def test_messages_are_taken_as_they_are(self):
        given = inference.GenerateRequest(prompt="p", model="m")
        request = made(given, seed=4)
        self.assertEqual((request.prompt, request.model, request.sampling.seed), ("p", "m", 4))
        self.assertFalse(given.HasField("sampling"))
        gaps = inference.Infill(parts=[inference.TextPart(text="a"), inference.TextPart(gap=3)])
        self.assertEqual(made(gaps).infill.parts[1].gap, 3)
        chat = inference.Chat(messages=[inference.ChatMessage(content="a")])
        self.assertEqual(made(chat).chat.messages[0].content, "a")

    def test_unknown_options_are_refused_by_name(self):
        with self.assertRaisesRegex(TypeError, "heat"):
            made("x", heat=1)
        with self.assertRaisesRegex(TypeError, "stream_frames"):
            made("x", stream_frames=True)


class ExportRequestTest(unittest.TestCase):
    def test_parts(self):
        self.assertIsNone(requests.export_request("a", None, None, False).WhichOneof("part"))
        self.assertEqual(requests.export_request("a", 2, 0, False).WhichOneof("part"), "bank")
        self.assertEqual(requests.export_request("a", 2, None, True).adapter.version, 2)
        with self.assertRaises(ValueError):
            requests.export_request("a", None, 1, True)


if __name__ == "__main__":
    unittest.main()
