# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks of members with valid certificates, and of a thief with a key that was replaced.

The members are tests/campaign/insider.cc: the adversaries of the simulated world, over real links.
"""

import json
import shutil

from hostile.nodes import Node, Process, wait_until

# Twice what is kept of one origin, and one more in two seconds (SECURITY.md, "Limits for members")
PATTERN_BURST, PATTERNS_PER_SECOND, PATTERNS_KEPT = 512, 0.5, 256
# Payload bytes of one origin, at once and a second
BYTES_BURST_MB, BYTES_PER_SECOND_MB = 64, 0.25
# What the nodes write by themselves meanwhile: logs of the store, state of rounds, their own items
WRITTEN_ANYWAY_MB = 32


class Insider:
    """One member that attacks all honest nodes."""

    def __init__(self, cluster, name):
        self.flags, self.place = cluster.flags, cluster.place
        self.node = Node(self.flags, self.place, cluster.folder, name, host="attackers")
        self.running = None

    def start(self, cluster, attack, seed):
        command = [self.flags.insider, "--data-dir", self.node.data, "--model", self.flags.model,
                   "--listen", self.node.federation, "--attack", attack, "--seconds", "3600",
                   "--seed", seed]
        for node in cluster.nodes:
            command += ["--victim", node.federation]
        self.running = Process(self.place.command("attackers", command), self.node.log)

    def stop(self):
        if self.running is None:
            return {}
        said = self.running.end().strip().splitlines()
        self.running = None
        return json.loads(said[-1]) if said else {}


class InsiderAttack:
    """Some members that attack in one way; `kind` is a name of tests/sim/adversary.h.

    Honest nodes end the links of those that are `cut`, and keep out for good those `excluded`."""

    def __init__(self, kind, identities=1, cut=False, excluded=False):
        self.name, self.kind, self.identities = f"insider: {kind}", kind, identities
        self.cut, self.excluded = cut, excluded
        self.insiders = []

    def prepare(self, cluster, number):
        """Joins the cluster, or does what else comes before an attack."""
        self.insiders = [Insider(cluster, f"{self.kind}-{number}-{i}")
                         for i in range(self.identities)]
        for insider in self.insiders:
            insider.node.join(cluster.alpha)

    def start(self, cluster):
        for seed, insider in enumerate(self.insiders):
            insider.start(cluster, self.kind, seed + 1)

    def processor(self):
        return sum(one.running.processor() for one in self.insiders if one.running)

    def stop(self):
        said = [insider.stop() for insider in self.insiders]
        return {key: sum(one.get(key, 0) for one in said)
                for key in ("frames_sent", "bytes_sent", "frames_dropped", "dials", "dials_failed",
                            "links_opened", "links_closed", "patterns_offered", "items_signed")}

    def ends_well(self, cluster, counts):
        """Returns what is wrong with how honest nodes met the attackers."""
        if not counts["links_opened"]:
            return ["no insider opened a link; nothing was attacked"]
        wrong = []
        if self.cut and not counts["links_closed"]:
            wrong.append("all links of the insider stayed open")
        for node in cluster.nodes if self.excluded else []:
            state = node.members().get(self.insiders[0].node.name, {}).get("state")
            if state != "excluded":
                wrong.append(f"{node.name} takes the insider for {state}, and not for excluded")
        return wrong

    def fate(self, cluster):
        """Returns what the honest nodes think of the first insider, and the patterns that they keep."""
        states, patterns = [], 0
        for node in cluster.nodes:
            member = node.members().get(self.insiders[0].node.name, {"state": "unknown"})
            states.append(member["state"] + ("+link" if member.get("linked") else ""))
            kept = member.get("patterns", {})
            patterns = max(patterns, kept.get("taken", 0) + kept.get("without_adapter", 0) +
                           kept.get("on_trial", 0))
        return f"taken for {','.join(states)}; {patterns} patterns kept", patterns


class FormerKey(InsiderAttack):
    """A thief of beta's key, which beta has replaced since: no link opens."""

    def __init__(self):
        super().__init__("spammer")
        self.name = "former key"

    def prepare(self, cluster, number):
        thief = Insider(cluster, f"thief-{number}")
        thief.node.data.mkdir(mode=0o700)
        for file in ("node.key", "node.cert", "ruvd.toml", "revocations"):
            if (cluster.beta.data / file).exists():
                shutil.copy(cluster.beta.data / file, thief.node.data / file)
        cluster.beta.stop()
        cluster.beta.ruvd("cert", "rotate", cluster.alpha.federation, "--data-dir",
                          cluster.beta.data, "--end-former")
        cluster.beta.start([cluster.alpha.federation])
        wait_until(cluster.linked, "the links of beta with its next key")
        cluster.warm([cluster.beta])
        self.insiders = [thief]

    def fate(self, _cluster):
        return "", 0  # it has the name of beta, whom the others keep

    def ends_well(self, _cluster, counts):
        if counts["links_opened"]:
            return [f"a key that was ended opened {counts['links_opened']} links"]
        return [] if counts["dials"] else ["the thief dialled no node; nothing was attacked"]


def limits_of_origin(seconds, before, after, kept):
    """Returns what is wrong with what one node took and wrote in an attack by one member."""
    wrong = []
    taken = after["patterns_taken"] - before["patterns_taken"]
    if taken > PATTERN_BURST + PATTERNS_PER_SECOND * seconds + 8:
        wrong.append(f"{taken} patterns of one member were taken in {seconds:.0f} s")
    if kept > PATTERNS_KEPT:
        wrong.append(f"{kept} patterns of one member are kept")
    written = after["written_mb"] - before["written_mb"]
    if written > BYTES_BURST_MB + BYTES_PER_SECOND_MB * seconds + WRITTEN_ANYWAY_MB:
        wrong.append(f"{written:.0f} MB were written because of one member")
    return wrong


ATTACKS = [InsiderAttack("silent"), InsiderAttack("free-rider"), InsiderAttack("forger", cut=True),
           InsiderAttack("replayer"), InsiderAttack("equivocator", excluded=True),
           InsiderAttack("flooder", cut=True), InsiderAttack("bomber", cut=True),
           InsiderAttack("sybil", identities=5), InsiderAttack("address-liar"),
           InsiderAttack("wrong-frame"), InsiderAttack("accuser"), FormerKey(),
           InsiderAttack("spammer")]
