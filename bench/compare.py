#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs our engine and another program alternately and compares them.

Both commands must print one JSON line with the members ms_cpu and ms_wall (best repetition) and
ms_cpu_median and ms_wall_median, as bench/engine does. Alternating makes both see the same load and
clock; CPU time is what to trust on a shared machine. A ratio above 1 means that ours is faster: of
the minima over all runs, of the medians over all runs, and the range over the pairs of runs that
were neighbours.

usage: bench/compare.py [--runs N] [--label TEXT] [--row] --ours COMMAND --peer COMMAND
                        [--peak GFLOPS] [--bytes B --bandwidth GBS]
  --row        print a row of a table instead of prose, with the cells of
               bench/results/beside-the-peer.json
  --peak       floor: our flops over this peak, per core, for the operations the product uses
  --bytes      floor: bytes that every forward must read over this bandwidth, per core
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys


def measure(command):
    done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, text=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        sys.exit(f"compare.py: exit code {done.returncode} of: {command}")
    return json.loads(lines[-1])


def values(lines, key):
    return [line[key] for line in lines]


def ratios(ours, peers, clock):
    """Peer over ours: minima, medians, lowest and highest of neighbouring pairs."""
    best, median = f"ms_{clock}", f"ms_{clock}_median"
    pairs = [p[best] / o[best] for o, p in zip(ours, peers)]
    return (
        min(values(peers, best)) / min(values(ours, best)),
        statistics.median(values(peers, median)) / statistics.median(values(ours, median)),
        min(pairs),
        max(pairs),
    )


def floor_ms(options, line):
    """The shortest time the machine allows, in milliseconds of CPU time; 0 where not asked."""
    floor = 0
    if options.peak:
        floor = line["gflops"] * line["ms_cpu"] / options.peak
    if options.bytes and options.bandwidth:
        floor = max(floor, line.get("forwards", 1) * options.bytes / options.bandwidth / 1e6)
    return floor


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--label", default="")
    parser.add_argument("--row", action="store_true")
    parser.add_argument("--peak", type=float, default=0)
    parser.add_argument("--bytes", type=float, default=0)
    parser.add_argument("--bandwidth", type=float, default=0)
    return parser.parse_args()


def main():
    options = parse()
    ours, peers = [], []
    for _ in range(options.runs):
        ours.append(measure(options.ours))
        peers.append(measure(options.peer))
    best = min(ours, key=lambda line: line["ms_cpu"])
    floor = floor_ms(options, best)
    share = f"{floor:.1f} ({100 * floor / best['ms_cpu']:.0f} %)" if floor else "-"
    cpu, wall = ratios(ours, peers, "cpu"), ratios(ours, peers, "wall")
    if options.row:
        print(
            f"| {options.label} | {best['ms_cpu']:.1f} | {min(values(ours, 'ms_wall')):.1f}"
            f" | {best['gflops']:.0f} | {max(values(ours, 'tokens_per_s')):.0f} | {share}"
            f" | {min(values(peers, 'ms_cpu')):.1f} | {min(values(peers, 'ms_wall')):.1f}"
            f" | {cpu[0]:.2f} / {cpu[1]:.2f} ({cpu[2]:.2f}-{cpu[3]:.2f})"
            f" | {wall[0]:.2f} / {wall[1]:.2f} ({wall[2]:.2f}-{wall[3]:.2f}) |"
        )
        return
    print(f"ours:  {json.dumps(best)}")
    print(f"peer:  {json.dumps(min(peers, key=lambda line: line['ms_cpu']))}")
    print(f"floor: {share} ms of CPU time")
    for clock, ratio in (("CPU", cpu), ("wall", wall)):
        print(
            f"peer / ours, {clock} time: {ratio[0]:.2f} of the minima, {ratio[1]:.2f} of the medians,"
            f" pairs {ratio[2]:.2f} to {ratio[3]:.2f}"
        )


if __name__ == "__main__":
    main()
