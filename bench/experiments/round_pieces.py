#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Cuts the domain corpora into pieces of 128 tokens for round_arms.py, as bench/experiments/crops.cc does.

Needs Python and the zstd program only, so that a small file can be carried to a GPU machine.

  python3 bench/experiments/round_pieces.py --corpus DIR --out FILE.json.xz
      (DIR: tokenizer-8192.json, base-00.jsonl.zst, general.valid.jsonl.zst,
      domains/NAME.train.jsonl.zst, domains/NAME.valid.jsonl.zst)
"""
import argparse
import functools
import json
import lzma
import pathlib
import random
import re
import subprocess
import sys
import unicodedata

LENGTH = 128
HELD_OUT_EVERY = 10  # every tenth training document is kept for the gate of a node


def letters_and_numbers():
    """Character classes of the Unicode categories L and N, which Python's re lacks."""
    classes = {"L": [], "N": []}
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))[0]
        if kind in classes:
            ranges = classes[kind]
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return ("".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in classes[k]) for k in "LN")


class Tokenizer:
    """Byte-level BPE with the splitting expression of the file."""

    def __init__(self, path):
        data = json.loads(path.read_text())
        letters, numbers = letters_and_numbers()
        pattern = data["pre_tokenizer_regex"]
        for name, members in (("L", letters), ("N", numbers)):
            pattern = re.sub(r"\[([^\]]*)\\p\{%s\}" % name, lambda m: f"[{m[1]}{members}", pattern)
            while f"\\p{{{name}}}" in pattern:
                at = pattern.index(f"\\p{{{name}}}")
                inside = pattern.rfind("[", 0, at) > pattern.rfind("]", 0, at)
                pattern = pattern[:at] + (members if inside else f"[{members}]") + pattern[at + 5:]
        self.split = re.compile(pattern)
        self.ids = {token: i for i, token in enumerate(data["vocab"])}
        merges = [m.split(" ") if isinstance(m, str) else m for m in data["merges"]]
        self.ranks = {tuple(m): i for i, m in enumerate(merges)}
        printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = [b for b in range(256) if b not in printable]
        self.bytes = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
        self.word = functools.cache(self.encode_word)

    def encode_word(self, word):
        parts = [self.bytes[b] for b in word.encode()]
        while len(parts) > 1:
            ranks = [self.ranks.get(pair, len(self.ranks)) for pair in zip(parts, parts[1:])]
            best = min(ranks)
            if best == len(self.ranks):
                break
            at = ranks.index(best)
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return [self.ids[p] for p in parts]

    def encode(self, text):
        return [token for word in self.split.findall(text) for token in self.word(word)]


def crops_of(path, tokenizer):
    """(document, tokens) of all pieces of a file."""
    lines = subprocess.run(["zstd", "-dc", str(path)], check=True, capture_output=True).stdout
    crops = []
    # Not splitlines(): texts hold line separators that JSON leaves as they are.
    for number, line in enumerate(lines.decode().removesuffix("\n").split("\n")):
        tokens = tokenizer.encode(json.loads(line)["text"])
        crops += [(number, tokens[k:k + LENGTH]) for k in range(0, len(tokens) - LENGTH + 1, LENGTH)]
    return crops


def spread(crops, most):
    count = min(most, len(crops))
    return [crops[i * len(crops) // count] for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True)
    parser.add_argument("--domains", default="gamedev,iot,kubernetes,medicine,python,rust")
    parser.add_argument("--lessons", type=int, default=2000, help="pieces that a node trains on")
    parser.add_argument("--valid", type=int, default=240, help="pieces of a domain that are scored")
    parser.add_argument("--general", type=int, default=480, help="pieces of general text")
    parser.add_argument("--public", type=int, default=1024, help="pieces of public text")
    options = parser.parse_args()
    tokenizer = Tokenizer(options.corpus / "tokenizer-8192.json")
    result = dict(train={}, valid={})
    for name in options.domains.split(","):
        train = crops_of(options.corpus / "domains" / f"{name}.train.jsonl.zst", tokenizer)
        result["train"][name] = spread([c for c in train if c[0] % HELD_OUT_EVERY], options.lessons)
        valid = crops_of(options.corpus / "domains" / f"{name}.valid.jsonl.zst", tokenizer)
        result["valid"][name] = spread(valid, options.valid)
        print(name, len(train), len(valid), flush=True)
    general = crops_of(options.corpus / "general.valid.jsonl.zst", tokenizer)
    result["valid"]["general"] = spread(general, options.general)
    # Public text, on which the models were trained: one piece of each of some documents
    public = {}
    for number, tokens in crops_of(options.corpus / "base-00.jsonl.zst", tokenizer):
        public.setdefault(number, []).append(tokens)
    chosen = spread(sorted(public), options.public)
    result["public"] = [(n, random.Random(n).choice(public[n])) for n in chosen]
    with lzma.open(options.out, "wt") as file:
        json.dump(result, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
