# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""One node with TLS and keys on loopback, in a folder of its own."""

import json
import subprocess


class Failure(Exception):
    """The node cannot be made, or does not start."""


class Node:
    def __init__(self, ruvd, model, folder):
        self.ruvd, self.model, self.folder = ruvd, model, folder
        self.process = None
        self.ca = folder / "api.cert.pem"
        self.socket = folder / "data/ruvd.sock"
        self.keys = {}

    def call(self, *arguments):
        made = subprocess.run([self.ruvd, *arguments], capture_output=True, text=True, timeout=120,
                              check=False)
        if made.returncode != 0:
            raise Failure(f"ruvd {arguments[0]} failed: {made.stderr.strip()}")
        return made.stdout

    def add_key(self, name, role, *limits):
        made = json.loads(self.call("--format", "json", "key", "create", name, "--role", role, "--keys",
                                    self.folder / "keys", *limits))
        self.keys[name] = made["key"]

    def start(self):
        """Makes the node, and returns where it serves gRPC and HTTP."""
        self.call("init", "--data-dir", self.folder / "data", "--name", "clients")
        self.call("cert", "tls", "--name", "IP:127.0.0.1", "--name", "DNS:localhost", "--out",
                  self.folder / "api")
        self.add_key("admin", "admin")
        self.add_key("contributor", "contributor")
        self.add_key("observer", "observer")
        self.add_key("stranger", "contributor")  # does not own what the contributor made
        # Two requests use up a minute of these. The other key gets a new one every half second.
        for name in ("poor", "poor-web", "poor-web-json", "poor-node", "poor-node-json", "poor-grpc"):
            self.add_key(name, "contributor", "--requests", "2")
        self.add_key("brisk", "contributor", "--requests", "120")
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [self.ruvd, "serve", "--config", self.folder / "data/ruvd.toml", "--model.path", self.model,
                 "--api.listen", "127.0.0.1:0", "--api.http_listen", "127.0.0.1:0", "--api.tls_cert",
                 self.ca, "--api.tls_key", self.folder / "api.key.pem", "--api.key_file",
                 self.folder / "keys", "--inference.threads", "1", "--log.format", "text"],
                stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        ready = self.process.stdout.readline()
        if not ready.startswith("ready"):
            raise Failure(f"the node did not start: {self.tail()}")
        fields = dict(part.split("=", 1) for part in ready.split() if "=" in part)
        return fields["api"], fields["http"]

    def tail(self):
        return (self.folder / "log").read_text(errors="replace")[-600:]

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Ends the node by its process id, and returns its exit status."""
        if self.process is None:
            return 0
        if self.is_running():
            self.process.terminate()
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
