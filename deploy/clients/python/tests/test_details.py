# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

import base64
import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import ruvdllm
from ruvdllm import details
from tests import fake_node


FOLDER = pathlib.Path(__file__).resolve().parents[1]


@functools.lru_cache
def described():
    """Returns the files of google.rpc and those that they need; empty if something is missing."""
    protos = FOLDER / "../../../proto/published"
    if shutil.which("protoc") is None or not protos.is_dir():
        return ()
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", "-I", protos, "--include_imports", f"--descriptor_set_out={out.name}",
                        "google/rpc/status.proto", "google/rpc/error_details.proto"], check=True)
        return tuple(descriptor_pb2.FileDescriptorSet.FromString(out.read()).file)


def published(test):
    if not described():
        test.skipTest("protoc or proto/published is not here")
    return described()


class DetailsTest(unittest.TestCase):
    def test_reads_what_a_node_sends(self):
        encoded = fake_node.details(grpc.StatusCode.RESOURCE_EXHAUSTED, "why", reason="KEY_LIMIT",
                                    fields=["a.b", "c"], retry=1.5, limit=(4, 9), quota="key")
        read = details.read(encoded)
        self.assertEqual((read.reason, read.domain), ("KEY_LIMIT", "ruvd"))
        self.assertEqual(read.fields, {"a.b": "why", "c": "why"})
        self.assertEqual(read.retry_after, 1.5)
        self.assertEqual(read.metadata, {"limit": "4", "value": "9"})
        self.assertEqual(read.quota, {"key": "why"})

    def test_reads_the_bytes_of_a_real_node(self):
        info = base64.b64decode("ChBJTlZBTElEX0FSR1VNRU5UEgRydXZk")
        status = fake_node.part(3, fake_node.part(1, "type.googleapis.com/google.rpc.ErrorInfo") +
                                fake_node.part(2, info))
        self.assertEqual(details.read(status).reason, "INVALID_ARGUMENT")

    def test_agrees_with_protobuf(self):
        pool = descriptor_pool.DescriptorPool()
        for file in published(self):
            pool.Add(file)
        find = pool.FindMessageTypeByName
        message = message_factory.MessageFactory(pool).GetPrototype
        status = message(find("google.rpc.Status"))(code=8, message="why")
        said = {"ErrorInfo": {"reason": "R", "domain": "d", "metadata": {"limit": "5", "value": "ä"}},
                "BadRequest": {"field_violations": [{"field": "a.b", "description": "no"}]},
                "RetryInfo": {"retry_delay": {"seconds": 3, "nanos": 5}},
                "QuotaFailure": {"violations": [{"subject": "key", "description": "all"}]}}
        for name, value in said.items():
            packed = message(find(f"google.rpc.{name}"))(**value)
            status.details.add().Pack(packed)
        read = details.read(status.SerializeToString())
        self.assertEqual((read.reason, read.domain, read.metadata), ("R", "d", {"limit": "5", "value": "ä"}))
        self.assertEqual((read.fields, read.quota), ({"a.b": "no"}, {"key": "all"}))
        self.assertAlmostEqual(read.retry_after, 3.000000005)

    def test_the_messages_of_google_rpc_may_be_registered_beside(self):
        encoded = [file.SerializeToString() for file in published(self)]
        register = (f"from google.protobuf import descriptor_pool\nfor one in {encoded!r}:\n"
                    "    descriptor_pool.Default().AddSerializedFile(one)\n")
        for program in (register + "import ruvdllm\n", "import ruvdllm\n" + register):
            made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                                  cwd=FOLDER, check=False)
            self.assertEqual((made.returncode, made.stderr), (0, ""))

    def test_malformed_bytes_say_nothing(self):
        whole = fake_node.details(grpc.StatusCode.ABORTED, "why", reason="CHANGED", retry=0.2)
        for end in range(len(whole)):
            read = details.read(whole[:end])
            self.assertIn(read.reason, ("", "CHANGED"))
        for junk in (b"\xff" * 20, b"\x1a\x05ab", b"\x0b", b"\x1a\x02\x12\x01"):
            self.assertEqual(details.read(junk), details.Details())

    def test_skips_fields_that_it_does_not_know(self):
        extra = b"\x49" + bytes(8) + b"\x55" + bytes(4) + fake_node.part(12, 1 << 60)
        encoded = extra + fake_node.details(grpc.StatusCode.ABORTED, "why", reason="CHANGED")
        self.assertEqual(details.read(encoded).reason, "CHANGED")

    def test_no_message_of_google_rpc_is_registered(self):
        with self.assertRaises(KeyError):
            descriptor_pool.Default().FindMessageTypeByName("google.rpc.Status")


class ErrorTest(unittest.TestCase):
    def test_the_code_stands_for_a_reason_where_grpc_refuses(self):
        for code, reason in ((grpc.StatusCode.UNAUTHENTICATED, "CALLER_UNKNOWN"),
                             (grpc.StatusCode.PERMISSION_DENIED, "ROLE_MISSING"),
                             (grpc.StatusCode.UNIMPLEMENTED, "")):
            self.assertEqual(ruvdllm.Error(code, "x").reason, reason)

    def test_says_its_reason_or_its_code(self):
        self.assertEqual(str(ruvdllm.Error(grpc.StatusCode.UNAVAILABLE, "gone")), "UNAVAILABLE: gone")
        encoded = fake_node.details(grpc.StatusCode.ABORTED, "x", reason="CHANGED", limit=("many", "-1"))
        error = ruvdllm.Error(grpc.StatusCode.ABORTED, "again", encoded)
        self.assertEqual(str(error), "CHANGED: again")
        self.assertIsNone(error.limit)
        self.assertIsNone(error.value)


if __name__ == "__main__":
    unittest.main()
