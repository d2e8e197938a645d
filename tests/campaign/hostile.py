#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks of outsiders and of members on a cluster of running nodes.

Three nodes with TLS and admission run, each with at most 1024 descriptors: alpha, which holds the
authority's key, and its members beta and gamma. For every attack the program measures the time of short
completions on alpha before, while and after others attack; whether the three keep their links and each
other; whether a new node can join and a lesson of beta reaches gamma meanwhile; what the nodes took and
wrote because of an attacker; and whether descriptors, threads and memory are back ten seconds later.

Outsiders (hostile/outsiders.py) are strangers, whom TLS refuses, and holders of a member's TLS key.
Insiders (hostile/insiders.py) are members with valid certificates, and a thief with a key that was
replaced; liars in what nodes learn attack in the simulated world only (tests/sim). Without --netns all
run on loopback, where insiders have the address of honest nodes and share its limits. The attackers run
on the same machine and take processor time of their own; "attackers" says how much.

Prints one line for each attack. Exit status: 0 all expectations hold; 1 one does not; 2 wrong flags.
"""

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from hostile import insiders
from hostile.measure import OUTSIDERS, Meeting
from hostile.nodes import Cluster
from hostile.places import Loopback, Namespaces
from namespaces import Failure, missing

ATTACKS = {one.name: one for one in [*OUTSIDERS, *insiders.ATTACKS]}


def run(flags, place, folder):
    """Meets all attacks; returns how many did harm."""
    cluster = Cluster(flags, place, folder)
    failed = 0
    try:
        cluster.start()
        for number, attack in enumerate(flags.attacks):
            meeting = Meeting(attack, cluster, number)
            print(meeting.meet(), flush=True)
            for one in meeting.wrong:
                print(f"  FAILED: {one}", flush=True)
            failed += bool(meeting.wrong)
        return failed
    finally:
        cluster.stop()


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[2]
    release = root / "build/release"
    parser.add_argument("--all", action="store_true",
                        help="outsiders and insiders, in network namespaces")
    parser.add_argument("--insiders", action="store_true", help="insiders (default: outsiders)")
    parser.add_argument("--attack", action="append", choices=list(ATTACKS),
                        help="only this attack; may be repeated")
    parser.add_argument("--netns", action="store_true",
                        help="a network namespace for each node, and for the attackers; needs root")
    parser.add_argument("--loss", type=float, default=0.01,
                        help="share of packets lost between namespaces (default 0.01)")
    parser.add_argument("--seconds", type=float, default=20, help="of each attack (default 20)")
    parser.add_argument("--calls", type=int, default=40,
                        help="completions before, during and after each attack (default 40)")
    parser.add_argument("--most-ratio", type=float, default=0,
                        help="how many times p99 may grow; 0: only print it (default), because the "
                        "attackers take time of the same cores")
    parser.add_argument("--ruvd", type=Path, default=release / "node/ruvd")
    parser.add_argument("--insider", type=Path, default=release / "tests/campaign/insider")
    parser.add_argument("--model", type=Path, default=root / "deploy/models/ruvdllm-5m.q8_0.gguf")
    parser.add_argument("--keep", action="store_true", help="keep the nodes' folders and logs")
    flags = parser.parse_args()
    for file in (flags.ruvd, flags.insider, flags.model):
        if not file.is_file():
            parser.error(f"{file} is missing; build it with `cmake --build --preset release`")
    if not 0 <= flags.loss < 1:
        parser.error(f"--loss is {flags.loss}; give a share from 0 to 1, such as 0.01")
    flags.netns = flags.netns or flags.all
    if flags.netns and missing():
        parser.error(missing())
    chosen = list(ATTACKS.values()) if flags.all else insiders.ATTACKS if flags.insiders else OUTSIDERS
    flags.attacks = [ATTACKS[name] for name in flags.attack] if flags.attack else chosen
    return flags


def main():
    flags = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all that was made is removed
    folder = Path(tempfile.mkdtemp(prefix="ruvd-hostile."))
    place = None
    try:
        place = Namespaces(flags.loss) if flags.netns else Loopback()
        print(f"{len(flags.attacks)} attacks, {place.words}", flush=True)
        failed = run(flags, place, folder)
    except (Failure, subprocess.SubprocessError) as error:
        print(f"hostile.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hostile.py: stopped; all processes and namespaces are removed", file=sys.stderr)
        return 1
    finally:
        if place is not None:
            place.close()
        if flags.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(flags.attacks) - failed} of {len(flags.attacks)} attacks held off")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
