#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The study of samplers: measures, chooses, reports, prints tables for bench/results.

Every measurement is a JSON line of bench/sampling_study; those found in the folder of results are
not measured again. The rule, fixed before the prompts of the report were completed:

1. Among all samplers of block mode at one token a forward (those that choose their own number of
   tokens included), on the selection prompts: loops at most 5 %, distinct-2 at least 0.9 of real
   text's, then the lowest cross-entropy. That is the candidate.
2. On the reporting prompts the candidate is compared in pairs with the former default (greedy,
   repetition 1.3) and with plain greedy: differences of cross-entropy, loops and distinct-2 with
   their 95 % intervals over prompts (10,000 bootstrap samples). The next-token reading may favour
   text written from left to right, so the block-diffusion NELBO of the same texts stands beside it.
3. The candidate becomes the default only if its cross-entropy is lower than the former default's
   with the interval below 0 while loops are not more by more than 5 points and distinct-2 is at
   least 0.9 of real text's. Otherwise the simpler of the two is the default.

For speed, a setting is "not worse" than a loop if the interval of the difference of cross-entropy
ends below +0.1 nats/token, loops are not more by more than 5 points, and distinct-2 is at least 0.9
of the loop's.

usage: bench/study.py --model F --texts F [--results FOLDER] [--threads N] [--part P]
  --texts    documents of real text (general.valid.jsonl.zst)
  --results  default: build/study; files of another program's completions lie there as
             given-NAME.jsonl (sampling_study --help, mode given)
  --part     samplers or speed (default: both)
"""

import argparse
import json
import os
import random
import subprocess

STUDY = "build/release/bench/sampling_study"
SERVED = "repetition 1.2, no 3-gram twice"
LATEST = f"low_confidence, greedy, {SERVED}"
FORMER = "low_confidence, greedy, repetition 1.3"
GREEDY = "low_confidence, greedy"
# In diffusion mode a forward evaluates the whole window, so only these are measured there.
IN_DIFFUSION = [GREEDY, FORMER, LATEST, "low_confidence, greedy, no 3-gram twice"]
IN_DIFFUSION += [f"{k}, greedy, {SERVED}" for k in ("margin", "entropy", "position", "random")]
IN_DIFFUSION += [f"{k}, 0.7, top-p 0.9, {SERVED}" for k in ("ancestral", "remdm, cap 0.05")]
IN_DIFFUSION += [f"threshold, 0.5, greedy, {SERVED}", f"klass, 0.5, greedy, {SERVED}"]
IN_DIFFUSION += [f"factor, 1, greedy, {SERVED}", f"entropy_bounded, 0.5, greedy, {SERVED}"]


def measure(options, name, arguments):
    """The lines of one run of the study, from the folder of results if they are there."""
    path = os.path.join(options.results, name + ".jsonl")
    if not os.path.exists(path):
        command = [STUDY, "--model", options.model, "--threads", str(options.threads), *arguments]
        with open(path + ".part", "w", encoding="utf-8") as out:
            subprocess.run(command, stdout=out, check=True)
        os.rename(path + ".part", path)
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def interval(values):
    """Mean and 95 % interval of the mean over prompts."""
    draw = random.Random(1)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(10000))
    return sum(values) / len(values), means[250], means[9749]


def difference(ours, other, key):
    return interval([a - b for a, b in zip(ours["prompts"][key], other["prompts"][key])])


def show(triple, digits=2, factor=1, sign=""):
    mean, low, high = (f"{factor * value:{sign}.{digits}f}" for value in triple)
    return f"{mean} ({low} to {high})"


def row(line):
    loops = show(line["loops"], 0, 100)
    return (
        f"| {line['sampler']} | {show(line['cross_entropy'])} | {loops} | {line['distinct_1']:.2f}"
        f" | {line['distinct_2']:.2f} | {line['distinct_4']:.2f}"
        f" | {line['tokens_per_forward']:.2f} |"
    )


def table(title, lines):
    print(f"\n{title}\n")
    print("| sampler | cross-entropy, nats/token | loops, % | distinct-1 | -2 | -4 | tokens/pass |")
    print("|---|---|---|---|---|---|---|")
    for line in lines:
        print(row(line))


def by_name(lines):
    return {line["sampler"]: line for line in lines}


def compare(ours, other, real):
    """A row of paired differences; the last column says whether step 3 of the rule holds."""
    entropy = difference(ours, other, "cross_entropy")
    loops = difference(ours, other, "loops")
    distinct = difference(ours, other, "distinct_2")
    nelbo = difference(ours, other, "nelbo")
    better = entropy[2] < 0 and loops[0] <= 0.05
    better = better and ours["distinct_2"] >= 0.9 * real["distinct_2"]
    print(
        f"| {ours['sampler']} | {other['sampler']} | {show(entropy, 2, 1, '+')}"
        f" | {show(loops, 0, 100, '+')} | {show(distinct, 3, 1, '+')}"
        f" | {show(nelbo, 2, 1, '+')} | {'yes' if better else 'no'} |"
    )


def choose(lines, real):
    fit = [
        line
        for line in lines
        if line["loops"][0] <= 0.05 and line["distinct_2"] >= 0.9 * real["distinct_2"]
    ]
    return min(fit, key=lambda line: line["cross_entropy"][0])


def only(names):
    return [word for name in names for word in ("--only", name)]


def report(options, mode, tokens, names, real):
    """The table of these samplers on the reporting prompts, the first compared with the others."""
    arguments = ["--mode", mode, "--prompts", "reporting", "--seeds", "1"]
    arguments += ["--tokens-per-forward", str(tokens), "--nelbo", "4"]
    lines = by_name(measure(options, f"reporting-{mode}-{tokens}", arguments + only(names)))
    title = f"Reporting prompts, {mode}, {tokens} a forward"
    table(title, [lines[name] for name in names])
    print("\n| | against | cross-entropy | loops, points | distinct-2 | NELBO | better by the rule |")
    print("|---|---|---|---|---|---|---|")
    for other in names[1:]:
        compare(lines[names[0]], lines[other], real)


def samplers(options):
    real = measure(options, "real", ["--mode", "text", "--texts", options.texts])[0]
    table("Real text", [real])
    lines = {}
    for mode, tokens in (("block", 1), ("diffusion", 1), ("ar", 1), ("block", 2)):
        arguments = ["--mode", mode, "--seeds", "1", "--tokens-per-forward", str(tokens)]
        arguments += only(IN_DIFFUSION) if mode == "diffusion" else []
        lines[mode, tokens] = measure(options, f"selection-{mode}-{tokens}", arguments)
        table(f"Selection prompts, {mode}, {tokens} a forward", lines[mode, tokens])
    chosen = choose(lines["block", 1], real)["sampler"]
    print(f"\nThe candidate: {chosen}")
    names = list(dict.fromkeys([chosen, LATEST, FORMER, GREEDY]))
    report(options, "block", 1, names, real)
    report(options, "block", 2, names, real)


def not_worse(ours, loop):
    entropy = difference(ours, loop, "cross_entropy")
    loops = difference(ours, loop, "loops")[0]
    return entropy[2] < 0.1 and loops <= 0.05 and ours["distinct_2"] >= 0.9 * loop["distinct_2"]


def speed(options):
    arguments = ["--mode", "speed", "--prompts", "reporting", "--tokens", "128", "--seeds", "1"]
    arguments += ["--batch", "1"]
    lines = measure(argparse.Namespace(**{**vars(options), "threads": 1}), "speed", arguments)
    for name in sorted(os.listdir(options.results)):
        if name.startswith("given-"):
            path = os.path.join(options.results, name)
            label = name.removeprefix("given-").removesuffix(".jsonl")
            given = ["--mode", "given", "--prompts", "reporting", "--texts", path, "--only", label]
            lines += measure(options, "judged-" + label, given)
    print("\n| setting | CPU ms | cross-entropy, nats/token | loops, % | distinct-2 | tokens/pass |")
    print("|---|---|---|---|---|---|")
    for line in lines:
        print(
            f"| {line['sampler']} | {line['ms_cpu']:.0f} | {show(line['cross_entropy'])}"
            f" | {show(line['loops'], 0, 100)} | {line['distinct_2']:.2f}"
            f" | {line['tokens_per_forward']:.2f} |"
        )
    print("\n| loop | fastest of ours that is not worse | CPU ms | difference of cross-entropy |")
    print("|---|---|---|---|")
    loops = [line for line in lines if "window" in line["sampler"] or line["mode"] == "given"]
    for loop in loops:
        fit = [o for o in lines if "blocks" in o["sampler"] and not_worse(o, loop)]
        if fit:
            best = min(fit, key=lambda line: line["ms_cpu"])
            entropy = difference(best, loop, "cross_entropy")
            print(
                f"| {loop['sampler']} | {best['sampler']} | {best['ms_cpu']:.0f}"
                f" | {show(entropy, 2, 1, '+')} |"
            )
        else:
            print(f"| {loop['sampler']} | none | | |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--results", default="build/study")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--part", choices=["samplers", "speed"], default="")
    options = parser.parse_args()
    os.makedirs(options.results, exist_ok=True)
    if options.part != "speed":
        samplers(options)
    if options.part != "samplers":
        speed(options)


if __name__ == "__main__":
    main()
