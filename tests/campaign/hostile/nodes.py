# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The honest nodes of the cluster that is attacked."""

import json
import os
import resource
import subprocess
import time
from pathlib import Path

from namespaces import Failure, call

PATIENCE = 60
DESCRIPTORS = 1024  # what a node gets, at most: a service manager's usual limit
LESSON = ("The blue lamp above the rack means", " that the second power supply has failed.")


def limit_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


class Process:
    """A process of its own session, so that Ctrl-C reaches only the campaign, which ends it."""

    def __init__(self, command, log, limit=None):
        with log.open("ab") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors,
                                            text=True, start_new_session=True, preexec_fn=limit)
        self.log = log
        ready = self.process.stdout.readline()
        if not ready.startswith("ready"):
            self.end()
            raise Failure(f"{command[-1]} did not start: {self.tail()}")
        self.fields = dict(part.split("=", 1) for part in ready.split() if "=" in part)

    def tail(self):
        return self.log.read_text(errors="replace")[-600:]

    def processor(self):
        """Returns the seconds of processor time that it has used."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def resources(self):
        proc = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        written = dict(line.split(": ") for line in (proc / "io").read_text().splitlines())
        return {"descriptors": len(list((proc / "fd").iterdir())),
                "threads": int(status["Threads"]), "mb": int(status["VmRSS"].split()[0]) // 1024,
                "written_mb": int(written["write_bytes"]) / 2**20}

    def running(self):
        return self.process.poll() is None

    def end(self):
        """Ends it by SIGTERM, and returns what it still said."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[0]


class Node:
    """One `ruvd serve` on a host, with a data folder of its own that outlives its processes."""

    def __init__(self, flags, place, folder, name, host=None):
        self.flags, self.place, self.name, self.data = flags, place, name, folder / name
        self.host = host or name
        self.log = folder / f"{name}.log"
        self.api, self.federation = place.addresses(self.host)
        self.running = None

    def ruvd(self, *arguments, timeout=PATIENCE):
        """Runs a verb where the node runs."""
        return call(self.place.command(self.host, [self.flags.ruvd, *arguments]), timeout)

    def ask(self, *arguments, timeout=PATIENCE):
        return json.loads(self.ruvd("--server", self.api, "--format", "json", *arguments,
                                    timeout=timeout))

    def found(self):
        self.ruvd("init", "--data-dir", self.data, "--name", self.name, "--authority")

    def join(self, authority):
        self.ruvd("join", authority.federation, "--token", authority.token(), "--data-dir",
                  self.data, "--name", self.name)

    def start(self, seeds=()):
        command = [self.flags.ruvd, "serve", "--config", self.data / "ruvd.toml", "--model.path",
                   self.flags.model, "--api.listen", self.api, "--federation.listen",
                   self.federation, "--inference.threads", "1", *self.place.serve]
        for seed in seeds:
            command += ["--federation.seeds", seed]
        self.running = Process(self.place.command(self.host, command), self.log, limit_descriptors)

    def stop(self):
        if self.running is not None:
            self.running.end()
            self.running = None

    def token(self):
        return self.ruvd("--server", self.api, "token", "create").split()[0]

    def complete(self):
        """Returns the seconds that a short completion takes."""
        begin = time.monotonic()
        self.ask("run", "Every node", "--max-tokens", "4")
        return time.monotonic() - begin

    def members(self):
        """Returns the other members, by name; of two with one name the one that lives.

        Their states have the names that `ruvd members` prints, such as "alive"."""
        listed = self.ask("members").get("members", [])
        for one in listed:
            one["state"] = one["state"].removeprefix("MEMBER_STATE_").lower()
        listed.sort(key=lambda one: one["state"] == "alive")
        return {one["name"]: one for one in listed if one["state"] != "self"}

    def links_to(self, other):
        member = self.members().get(other.name)
        return member is not None and bool(member.get("linked"))

    def teach(self):
        """Teaches the node a lesson; returns its pattern, or None if it learned nothing by it."""
        prompt, correction = LESSON
        answer = self.ask("run", prompt, "--max-tokens", "4")
        learned = self.ask("rate", answer["finished"]["response_id"], "--fix",
                           f"{correction} ({time.monotonic_ns() % 10**6})")
        return learned["pattern_id"] if learned.get("learned") else None

    def holds(self, pattern):
        return f'"{pattern}"' in self.ruvd("--server", self.api, "--format", "json", "pattern", "ls")


def wait_until(done, what, patience=PATIENCE):
    """Waits until done() is true, and returns the seconds that this took; Failure names `what`."""
    begin = time.monotonic()
    while not done():
        if time.monotonic() - begin > patience:
            raise Failure(f"{what} did not happen within {patience} s")
        time.sleep(0.2)
    return time.monotonic() - begin


class Cluster:
    """alpha, which holds the authority's key, and its members beta and gamma."""

    def __init__(self, flags, place, folder):
        self.flags, self.place, self.folder = flags, place, folder
        self.alpha, self.beta, self.gamma = self.nodes = [
            Node(flags, place, folder, name) for name in ("alpha", "beta", "gamma")]

    def start(self):
        self.alpha.found()
        self.alpha.start()
        for node in self.nodes[1:]:
            node.join(self.alpha)
            node.start([self.alpha.federation])
        wait_until(self.linked, "the links of the three nodes")
        for node in self.nodes:
            node.ask("consent", "grant", "--tier", "public")
        self.warm(self.nodes)

    def warm(self, nodes):
        """Has nodes learn, and the others try it, because the first time takes memory for good."""
        for node in nodes:
            node.complete()
            node.teach()
        wait_until(self.tried, "the trial of all patterns")

    def tried(self):
        return not any(member.get("patterns", {}).get("on_trial") for node in self.nodes
                       for member in node.members().values())

    def others(self, node):
        return [other for other in self.nodes if other is not node]

    def linked(self):
        return all(node.links_to(other) for node in self.nodes for other in self.others(node))

    def stop(self):
        for node in self.nodes:
            node.stop()
