# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured before, while and after others attack a cluster."""

import collections
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from hostile import insiders, outsiders
from hostile.nodes import Failure, Node, Process, wait_until

SETTLED = 10  # seconds after an attack in which all has to come back
SAMPLE = 0.5  # seconds between two looks at the resources of alpha
LOOK = 6  # of these looks, one at the links


class OutsiderAttack:
    """An attack of outsiders.py on alpha, in a process of its own."""

    def __init__(self, attack):
        self.name, self.port = attack.name, attack.port
        self.running = None

    def prepare(self, cluster, number):
        pass

    def start(self, cluster):
        alpha = cluster.alpha
        command = [sys.executable, "-B", Path(outsiders.__file__), "--attack", self.name, "--target",
                   alpha.api if self.port == "api" else alpha.federation, "--member",
                   cluster.beta.data / "link-tls.pem"]
        if cluster.place.source:
            command += ["--source", cluster.place.source]
        self.running = Process(cluster.place.command("attackers", command),
                               cluster.folder / "outsiders.log")

    def processor(self):
        return self.running.processor()

    def stop(self):
        if self.running is None:
            return {}
        said = self.running.end()
        self.running = None
        return json.loads(said) if said else {}

    def ends_well(self, _cluster, _counts):
        return []


class Watch(threading.Thread):
    """Looks again and again whether the honest nodes keep each other as members, with links, and at
    the most that alpha needs."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.over, self.wrong = cluster, threading.Event(), []
        self.most = cluster.alpha.running.resources()

    def run(self):
        looks = 0
        while not self.over.wait(SAMPLE):
            looks += 1
            try:
                now = self.cluster.alpha.running.resources()
                self.most = {key: max(value, now[key]) for key, value in self.most.items()}
                if looks % LOOK == 0:
                    self.look_at_links()
            except (Failure, OSError, subprocess.TimeoutExpired) as error:
                self.note(f"a node did not answer: {error}")

    def look_at_links(self):
        for node in self.cluster.nodes:
            members = node.members()
            for other in self.cluster.others(node):
                seen = members.get(other.name, {"state": "unknown"})
                if not seen.get("linked"):
                    self.note(f"{node.name} lost its link to {other.name}")
                if seen["state"] not in ("alive", "suspect"):
                    self.note(f"{node.name} takes {other.name} for {seen['state']}")

    def note(self, problem):
        if problem not in self.wrong:
            self.wrong.append(problem)

    def end(self):
        self.over.set()
        self.join()
        return self.wrong


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def p99(node, calls):
    return quantile([node.complete() for _ in range(calls)], 0.99)


def snapshot(node):
    status = node.ask("status")
    cluster = status.get("cluster", {})
    return {**node.running.resources(), "refused": cluster.get("refused_envelopes", {}),
            "limits": {one["name"]: one.get("refused", 0) for one in status.get("limits", [])},
            "patterns_taken": int(cluster.get("accepted_items", {}).get("pattern", 0)),
            "ended": {f"{port['name']} {why}": int(count) for port in status["ports"]
                      for why, count in port.get("ended", {}).items()}}


def growth(before, after, field):
    """Returns how much the counts of a field grew, on all nodes together."""
    grown = collections.Counter()
    for name in after:
        grown.update({key: int(value) for key, value in after[name][field].items()})
        grown.subtract({key: int(value) for key, value in before[name][field].items()})
    return ", ".join(f"{key} {value}" for key, value in sorted(grown.items()) if value) or "nothing"


def check_return(name, before, after):
    """Returns what did not come back on a node."""
    wrong = []
    if (after["descriptors"] > before["descriptors"] + 8 or
            after["threads"] > before["threads"] + 4):
        wrong.append(f"{name}: descriptors went from {before['descriptors']} to "
                     f"{after['descriptors']}, threads from {before['threads']} to "
                     f"{after['threads']}, and did not come back")
    if after["mb"] > before["mb"] * 1.25 + 32:
        wrong.append(f"{name}: memory went from {before['mb']} to {after['mb']} MB")
    return wrong


class Meeting:
    """One attack on a cluster, and what it did to it."""

    def __init__(self, attack, cluster, number):
        self.attack, self.cluster, self.number = attack, cluster, number
        self.flags, self.alpha = cluster.flags, cluster.alpha
        self.wrong, self.calm, self.during, self.later = [], 0, 0, 0
        self.arrived = None  # seconds until gamma had what beta learned; None: it learned nothing

    def meet(self):
        """Runs the attack; returns its line, and what is wrong."""
        self.attack.prepare(self.cluster, self.number)
        before = {node.name: snapshot(node) for node in self.cluster.nodes}
        watch = Watch(self.cluster)
        watch.start()  # before the attack, too, because it takes processor time
        self.calm = p99(self.alpha, self.flags.calls)
        own, spent, begin = 0, self.alpha.running.processor(), time.monotonic()
        try:
            self.attack.start(self.cluster)
            time.sleep(2)
            self.use()
            time.sleep(max(0.0, self.flags.seconds - (time.monotonic() - begin)))
            own = self.attack.processor()
        finally:
            seconds = time.monotonic() - begin
            spent = self.alpha.running.processor() - spent
            counts = self.attack.stop()
            self.wrong += watch.end()
        self.wrong += self.attack.ends_well(self.cluster, counts)
        time.sleep(SETTLED)
        after = {node.name: snapshot(node) for node in self.cluster.nodes}
        self.later = p99(self.alpha, self.flags.calls)
        fate = self.judge(seconds, before, after)
        refused = (f"refused {growth(before, after, 'refused')}"
                   f"  limits {growth(before, after, 'limits')}"
                   f"  ended {growth(before, after, 'ended')}")
        return self.line(spent / seconds, own / seconds, before["alpha"], watch.most, after["alpha"],
                         "  ".join(part for part in (refused, fate, counted(counts)) if part))

    def use(self):
        """Uses the cluster while it is attacked."""
        self.during = p99(self.alpha, self.flags.calls)
        newcomer = Node(self.flags, self.cluster.place, self.cluster.folder, f"new{self.number}",
                        host="newcomers")
        try:
            newcomer.join(self.alpha)
        except (Failure, subprocess.TimeoutExpired) as error:
            self.wrong.append(f"a new node could not join: {error}")
        try:
            pattern = self.cluster.beta.teach()
            if pattern is not None:
                self.arrived = wait_until(lambda: self.cluster.gamma.holds(pattern),
                                          "that gamma has what beta learned")
        except (Failure, subprocess.TimeoutExpired) as error:
            self.wrong.append(str(error))

    def judge(self, seconds, before, after):
        for node in self.cluster.nodes:
            self.wrong += check_return(node.name, before[node.name], after[node.name])
        ratio = self.during / self.calm
        if self.flags.most_ratio and ratio > self.flags.most_ratio:
            self.wrong.append(f"p99 of completions grew {ratio:.2f} times, and "
                              f"{self.flags.most_ratio} times are allowed")
        if not isinstance(self.attack, insiders.InsiderAttack):
            return ""
        fate, kept = self.attack.fate(self.cluster)
        for node in self.cluster.nodes:
            self.wrong += [f"{node.name}: {one}" for one in insiders.limits_of_origin(
                seconds + SETTLED, before[node.name], after[node.name], kept)]
        return fate

    def line(self, node_cores, attackers_cores, before, most, after, rest):
        came_back = "  ".join(f"{key} {before[key]} -> {most[key]} -> {after[key]}"
                              for key in ("descriptors", "threads", "mb"))
        lesson = "not learned" if self.arrived is None else f"in {self.arrived:.1f} s"
        return (f"{self.attack.name:20} p99 {self.calm:.3f} -> {self.during:.3f} -> "
                f"{self.later:.3f} s ({self.during / self.calm:.2f} x)  node {node_cores:.2f} cores, "
                f"attackers {attackers_cores:.2f}  {came_back}  "
                f"written {after['written_mb'] - before['written_mb']:.1f} MB  lesson {lesson}  {rest}")


def counted(counts):
    told = " ".join(f"{key} {value}" for key, value in counts.items() if value)
    return f"sent: {told}" if told else ""


OUTSIDERS = [OutsiderAttack(one) for one in outsiders.ATTACKS]
