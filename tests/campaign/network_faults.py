#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Real nodes in network namespaces through loss, partitions, SIGSTOP and kill -9.

Every cycle makes one fault happen to a cluster of `ruvd serve` processes, teaches a node something
while it lasts, ends it, and measures from there (starts of killed nodes included) until all nodes see
each other alive and hold everything that was acknowledged. Meanwhile every node is asked for completions: a node that runs must always answer,
whatever the network does.

Needs root, iproute2 and nftables, and changes nothing outside the namespaces that it makes.
Exit status: 0 all well; 1 a running node did not answer, something acknowledged was lost, or a
cycle did not recover within --limit; 2 wrong flags or a missing tool.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from namespaces import Failure, Network, call, missing

API = "127.0.0.1:7420"
START_SECONDS = 60
CALL_SECONDS = 60
LESSONS = [
    ("The cluster's oldest node is called", " Juniper, and it stands in the north hall."),
    ("Our release train leaves every", " second Thursday at half past nine in the morning."),
    ("The pager rotation changes on", " Wednesday at noon, after the weekly review."),
    ("Backups of the ledger are kept in", " two vaults, one of them under the old mill."),
    ("The blue lamp above the rack means", " that the second power supply has failed."),
    ("Visitors sign in at the", " wooden desk beside the eastern stairs."),
]
ALIVE = ("MEMBER_STATE_ALIVE", "MEMBER_STATE_SELF")
KINDS = ["kill", "stop", "partition", "one-way", "kill-partition"]


class Node:
    """One `ruvd serve` in its namespace; its data outlives its processes."""

    def __init__(self, index, ruvd, network, folder):
        self.index = index
        self.ruvd = ruvd
        self.network = network
        self.folder = folder / f"n{index}"
        self.log = folder / f"n{index}.log"
        self.process = None
        self.id = ""
        # Requests that overlap a kill or a stop prove nothing: this number tells which ones do.
        self.disturbances = 0
        self.ready = False

    def inside(self, *arguments):
        return self.network.inside(self.index, [self.ruvd, *arguments])

    def ask(self, *arguments, timeout=CALL_SECONDS):
        return json.loads(call(self.inside("--server", API, "--format", "json", *arguments), timeout))

    def start(self, settings):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.inside("serve", *settings), stdout=subprocess.PIPE,
                                            stderr=log, text=True)
        ready = []
        reader = threading.Thread(target=lambda: ready.append(self.process.stdout.readline()),
                                  daemon=True)
        reader.start()
        reader.join(START_SECONDS)
        if not ready or not ready[0].startswith("ready "):
            raise Failure(f"node {self.index} did not start; the end of its log: {self.tail()}")
        self.ready = True

    def tail(self):
        return self.log.read_text(errors="replace")[-600:] if self.log.exists() else "(none)"

    def pid(self):
        """Of ruvd itself: `ip netns exec` becomes the program that it runs."""
        return self.process.pid

    def signal(self, number):
        self.ready = False
        self.disturbances += 1
        os.kill(self.pid(), number)
        self.ready = number == signal.SIGCONT

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def running(self):
        return self.process is not None and self.process.poll() is None


class Asker(threading.Thread):
    """Asks one node for short completions as long as the campaign lasts."""

    def __init__(self, node, pause):
        super().__init__(daemon=True)
        self.node = node
        self.pause = pause
        self.over = threading.Event()
        self.answers = 0
        self.failures = []
        self.slowest = 0.0

    def run(self):
        while not self.over.wait(self.pause):
            before = self.node.disturbances  # first: a kill after this line changes it
            if not self.node.ready:
                continue
            begin = time.monotonic()
            try:
                self.node.ask("run", "Every node", "--max-tokens", "4")
                self.answers += 1
                if before == self.node.disturbances:
                    self.slowest = max(self.slowest, time.monotonic() - begin)
            except (Failure, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
                if before == self.node.disturbances:
                    self.failures.append(f"node {self.node.index}: {error}")


class Campaign:
    """A cluster, what it has acknowledged, and what was measured of it."""

    def __init__(self, flags, network, folder):
        self.flags = flags
        self.network = network
        self.random = random.Random(flags.seed)
        self.nodes = [Node(i, flags.ruvd, network, folder) for i in range(flags.nodes)]
        self.acknowledged = set()
        self.settings = {}
        self.loss = 0.0
        self.found()
        self.askers = [Asker(node, flags.pause) for node in self.nodes]

    def found(self):
        first = self.nodes[0]
        made = json.loads(call([self.flags.ruvd, "--format", "json", "init", "--data-dir", first.folder, "--name",
                                "n0", "--authority"]))
        first.id = made["id"]
        authority = made["authority"]
        for node in self.nodes:
            if node is not first:
                made = json.loads(call([self.flags.ruvd, "--format", "json", "init", "--data-dir", node.folder,
                                        "--name", f"n{node.index}"]))
                node.id = made["id"]
                call([self.flags.ruvd, "cert", "issue", "--authority", first.folder / "authority.key",
                      "--key", made["public_key"], "--name", f"n{node.index}", "--out",
                      node.folder / "node.cert"])
            address = f"{Network.address(node.index)}:7421"
            seeds = ",".join(f"{Network.address(i)}:7421" for i in range(min(3, self.flags.nodes)))
            self.settings[node.index] = [
                "--node.data_dir", str(node.folder), "--node.name", f"n{node.index}",
                "--model.path", str(self.flags.model), "--api.listen", API, "--metrics.listen", "",
                "--federation.enabled", "true", "--federation.authority", authority,
                "--federation.listen", address, "--federation.seeds", seeds,
                "--federation.round_seconds", "5", "--inference.threads", "1",
                "--storage.reserve_bytes", str(128 << 20)]

    def start(self):
        for node in self.nodes:
            node.start(self.settings[node.index])
        for node in self.nodes:
            node.ask("consent", "grant", "--tier", "public")
        self.await_recovery(time.monotonic())
        for asker in self.askers:
            asker.start()

    def teach(self, node):
        """Teaches `node` a lesson; what it acknowledged must reach everybody."""
        prompt, correction = self.random.choice(LESSONS)
        tail = f" ({self.random.randrange(10**6)})"
        try:
            answer = node.ask("run", prompt, "--max-tokens", "4")
            learned = node.ask("rate", answer["finished"]["response_id"], "--fix", correction + tail)
        except (Failure, subprocess.TimeoutExpired) as error:
            raise Failure(f"node {node.index} could not be taught: {error}") from error
        if learned.get("learned"):
            self.acknowledged.add((node.id, learned["pattern_id"]))

    def missing(self):
        """What keeps the cluster from being well, in words; empty where nothing does."""
        for node in self.nodes:
            try:
                members = node.ask("members", timeout=10).get("members", [])
                alive = {m["node_id"] for m in members if m["state"] in ALIVE}
                if len(alive) < len(self.nodes):
                    return f"node {node.index} sees {len(alive)} of {len(self.nodes)} alive"
                held = self.patterns(node)
            except (Failure, subprocess.TimeoutExpired) as error:
                return f"node {node.index}: {error}"
            lacks = [p for origin, p in self.acknowledged if (origin, p) not in held]
            if lacks:
                return f"node {node.index} lacks pattern {lacks[0]} and {len(lacks) - 1} more"
        return ""

    @staticmethod
    def silent(node):
        """How many members `node` does not see alive."""
        members = node.ask("members").get("members", [])
        return sum(m["state"] not in ALIVE for m in members)

    @staticmethod
    def patterns(node):
        listed = call(node.inside("--server", API, "--format", "json", "pattern", "ls"), 10)
        held = set()
        for line in listed.splitlines():
            entry = json.loads(line)
            for pattern in entry.get("patterns", [entry] if "id" in entry else []):
                held.add((pattern.get("origin", ""), pattern["id"]))
        return held

    def await_recovery(self, since):
        problem = ""
        while time.monotonic() - since < self.flags.limit:
            problem = self.missing()
            if not problem:
                return time.monotonic() - since
            time.sleep(0.2)
        raise Failure(f"not well {self.flags.limit} s after the fault: {problem}")

    # ---- Faults: each returns a function that ends it, and the nodes that it leaves alone.

    def victims(self):
        return self.random.sample(self.nodes, max(1, len(self.nodes) // 4))

    def kill(self):
        victims = self.victims()
        for node in victims:
            node.signal(signal.SIGKILL)
            node.process.wait()

        def again():
            for node in victims:
                node.start(self.settings[node.index])
        return again, victims

    def stop(self):
        victims = self.victims()
        for node in victims:
            node.signal(signal.SIGSTOP)

        def again():
            for node in victims:
                node.signal(signal.SIGCONT)
        return again, victims

    def partition(self, both_ways=True):
        side = set(self.random.sample(range(len(self.nodes)), len(self.nodes) // 2))
        cut = [(a, b) for a in range(len(self.nodes)) for b in range(len(self.nodes))
               if a in side and b not in side]
        self.network.rules(self.loss, cut + ([(b, a) for a, b in cut] if both_ways else []))
        return (lambda: self.network.rules(self.loss, ())), []

    def kill_partition(self):
        mend, _ = self.partition()
        again, victims = self.kill()

        def both():
            mend()
            again()
        return both, victims

    def cycle(self, number):
        kind = KINDS[number % len(KINDS)]
        self.loss = self.flags.loss[(number // len(KINDS)) % len(self.flags.loss)]
        self.network.rules(self.loss, ())
        fault = {"kill": self.kill, "stop": self.stop, "partition": self.partition,
                 "one-way": lambda: self.partition(both_ways=False),
                 "kill-partition": self.kill_partition}[kind]
        begin = time.monotonic()
        again, victims = fault()
        self.teach(self.random.choice([n for n in self.nodes if n not in victims]))
        time.sleep(max(0.0, self.random.uniform(*self.flags.fault_seconds) -
                       (time.monotonic() - begin)))
        noticed = self.silent(self.random.choice([n for n in self.nodes if n not in victims]))
        end = time.monotonic()
        again()
        recovery = self.await_recovery(end)
        return {"cycle": number, "fault": kind, "loss": self.loss, "fault_s": round(end - begin, 1),
                "not_alive_at_end": noticed, "recovery_s": round(recovery, 2)}

    def close(self):
        for node in self.nodes:
            if node.running():
                os.kill(node.pid(), signal.SIGCONT)
        for asker in self.askers:
            asker.over.set()
        for asker in self.askers:
            if asker.is_alive():
                asker.join(CALL_SECONDS)  # what it asks is still answered
        for node in self.nodes:
            node.end()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def run(flags, folder):
    network = Network(flags.nodes)
    campaign = None
    cycles, problem = [], ""
    try:
        campaign = Campaign(flags, network, folder)
        campaign.start()
        for number in range(flags.cycles):
            cycles.append(campaign.cycle(number))
            print(json.dumps(cycles[-1]), flush=True)
    except (Failure, subprocess.SubprocessError) as error:
        problem = str(error)
    finally:
        if campaign is not None:
            campaign.close()
        network.close()
    failures = [f for asker in campaign.askers for f in asker.failures] if campaign else []
    recoveries = [c["recovery_s"] for c in cycles]
    summary = {
        "nodes": flags.nodes, "seed": flags.seed, "cycles": len(cycles),
        "answers": sum(a.answers for a in campaign.askers) if campaign else 0,
        "failed_answers": len(failures), "first_failure": failures[0] if failures else "",
        "slowest_answer_s": round(max(a.slowest for a in campaign.askers), 1) if campaign else 0,
        "acknowledged": len(campaign.acknowledged) if campaign else 0,
        "recovery_p50_s": percentile(recoveries, 0.5) if recoveries else None,
        "recovery_max_s": max(recoveries) if recoveries else None,
        "problem": problem}
    print(json.dumps(summary))
    return 1 if problem or failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--nodes", type=int, default=4, help="4 to 8")
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loss", type=float, nargs="+", default=[0.0, 0.05, 0.2],
                        help="of packets; one after another, five cycles each")
    parser.add_argument("--fault-seconds", type=float, nargs=2, default=[5.0, 20.0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a recovery may take")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two questions")
    parser.add_argument("--ruvd", type=Path, default=root / "build/release/node/ruvd")
    parser.add_argument("--model", type=Path,
                        default=root / "deploy/models/ruvdllm-5m.q8_0.gguf")
    parser.add_argument("--keep", action="store_true", help="keep the nodes' folders and logs")
    flags = parser.parse_args()
    if not 2 <= flags.nodes <= 16:
        parser.error("--nodes must be 2 to 16")
    for file in (flags.ruvd, flags.model):
        if not file.is_file():
            parser.error(f"there is no {file}; build ruvd, or name it")
    if missing():
        parser.error(missing())
    folder = Path(tempfile.mkdtemp(prefix="ruvd-network-faults-"))
    try:
        return run(flags, folder)
    finally:
        if flags.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
