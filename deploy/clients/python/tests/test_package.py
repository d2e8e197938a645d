# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

import importlib
import pathlib
import pickle
import re
import subprocess
import unittest

import ruvdllm

FOLDER = pathlib.Path(__file__).resolve().parents[1]
VERSION = FOLDER / "../../../node/version.h"


class PackageTest(unittest.TestCase):
    def test_the_version_is_that_of_the_node(self):
        if not VERSION.exists():
            self.skipTest("node/version.h is not here")
        found = re.search(r'kVersion\[\] = "([^"]+)"', VERSION.read_text(encoding="utf-8"))
        self.assertEqual(ruvdllm.__version__, found.group(1))

    def test_generated_code_is_what_the_protos_say(self):
        made = subprocess.run([FOLDER / "generate.sh", "--check"], capture_output=True, text=True,
                              check=False)
        if made.returncode == 2:
            self.skipTest(made.stderr.strip())
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)

    def test_every_service_is_an_attribute_of_both_clients(self):
        services = importlib.import_module("ruvdllm.gen.services")
        names = [name.removesuffix("Service").lower() for name in vars(services)
                 if name.endswith("Service") and not name.startswith("Async")]
        self.assertEqual(len(names), 10)
        with ruvdllm.Client("127.0.0.1:1") as client:
            for name in names:
                methods = vars(services)[f"{name.capitalize()}Service"].__annotations__
                for method in methods:
                    self.assertTrue(callable(getattr(getattr(client, name), method)), method)
                    self.assertIn(method, vars(services)[f"Async{name.capitalize()}Service"]
                                  .__annotations__)

    def test_messages_can_be_pickled(self):
        request = ruvdllm.learning.SubmitFeedbackRequest(response_id="r", rating=1.0)
        self.assertEqual(pickle.loads(pickle.dumps(request)), request)


if __name__ == "__main__":
    unittest.main()
