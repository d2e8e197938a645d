#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Completions of a running node that are held to generated JSON schemas, judged by python3-jsonschema.

Makes schemas at random, and for each of them one completion for every mode and temperature. A completion
that ended by itself must be JSON that satisfies its schema; one that max_tokens cut off is counted apart.
Prints the counts of each mode and temperature. Exit status: 0 nothing is invalid, and at least nine of ten
completions ended by themselves; 1 otherwise; 2 python3-jsonschema is missing.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODES = ("ar", "block", "diffusion")
TEMPERATURES = ("0", "1")
WORDS = ("boat", "sea", "name", "count", "kind", "day", "Haus", "größe", "a b", "x\"y")


def scalar(rng):
    return rng.choice([
        lambda: {"type": "string", "maxLength": rng.randint(1, 6)},
        lambda: {"type": "integer", "minimum": 0},
        lambda: {"type": "integer"},
        lambda: {"type": "number"},
        lambda: {"type": "boolean"},
        lambda: {"type": "null"},
        lambda: {"enum": rng.sample(WORDS, 3)},
        lambda: {"const": rng.choice([1, -2.5, "x", None, True, [1, "y"], {"k": 0}])},
        lambda: {"type": ["integer", "null"]},
    ])()


def schema(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return scalar(rng)
    if kind < 0.5:
        least = rng.randint(0, 1)
        return {"type": "array", "items": schema(rng, depth - 1), "minItems": least,
                "maxItems": least + rng.randint(0, 2)}
    if kind < 0.6:
        return {"anyOf": [schema(rng, depth - 1), schema(rng, depth - 1)]}
    names = rng.sample(WORDS, rng.randint(1, 3))
    made = {"type": "object", "properties": {name: schema(rng, depth - 1) for name in names},
            "required": [name for name in names if rng.random() < 0.7]}
    if rng.random() < 0.5:
        made["additionalProperties"] = False
    return made


class Node:
    """A node of the model in a folder of its own, called at its unix socket."""

    def __init__(self, ruvd, model, folder):
        self.ruvd = str(ruvd)
        self.server = f"unix:{folder}/data/ruvd.sock"
        data = f"{folder}/data"
        subprocess.run([self.ruvd, "init", "--data-dir", data, "--name", "structured"], check=True,
                       stdout=subprocess.DEVNULL)
        self.log = open(f"{folder}/log", "wb")
        self.process = subprocess.Popen(
            [self.ruvd, "serve", "--config", f"{data}/ruvd.toml", "--model.path", str(model),
             "--api.listen", "127.0.0.1:0", "--api.http_listen", ""], stdout=self.log,
            stderr=self.log)
        for _ in range(200):
            if subprocess.run([self.ruvd, "--server", self.server, "health"],
                              capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit(f"the node did not become ready; see {folder}/log")

    def complete(self, schema_file, mode, temperature, seed, tokens):
        answer = subprocess.run(
            [self.ruvd, "--server", self.server, "--format", "json", "run", "The old man said",
             "--mode", mode, "--temperature", temperature, "--seed", str(seed), "--max-tokens",
             str(tokens), "--json-schema", schema_file], capture_output=True, check=False)
        if answer.returncode != 0:
            raise SystemExit(f"{schema_file}: {answer.stderr.decode()}")
        return json.loads(answer.stdout)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def judge(flags, node, folder, jsonschema):
    rng = random.Random(flags.seed)
    counts = {}
    for number in range(flags.schemas):
        made = schema(rng, 3)
        jsonschema.Draft202012Validator.check_schema(made)
        file = f"{folder}/schema-{number}.json"
        Path(file).write_text(json.dumps(made), encoding="utf-8")
        for mode in MODES:
            for temperature in TEMPERATURES:
                answer = node.complete(file, mode, temperature, number, flags.max_tokens)
                row = counts.setdefault((mode, temperature), {"valid": 0, "cut off": 0, "invalid": 0})
                if answer["finished"]["reason"] != "FINISH_REASON_END_OF_TEXT":
                    row["cut off"] += 1
                    continue
                try:
                    jsonschema.validate(json.loads(answer["text"]), made,
                                        cls=jsonschema.Draft202012Validator)
                    row["valid"] += 1
                except (ValueError, jsonschema.ValidationError) as error:
                    row["invalid"] += 1
                    print(f"INVALID {mode} {temperature} {file}: {answer['text']!r}: {error}")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--schemas", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="of the schemas (default 1)")
    parser.add_argument("--max-tokens", type=int, default=160)
    parser.add_argument("--ruvd", type=Path, default=root / "build/release/node/ruvd")
    parser.add_argument("--model", type=Path, default=root / "deploy/models/ruvdllm-5m.q8_0.gguf")
    flags = parser.parse_args()
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("python3-jsonschema is missing, and it judges the completions: apt install "
              "python3-jsonschema", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        node = Node(flags.ruvd, flags.model, folder)
        try:
            counts = judge(flags, node, folder, jsonschema)
        finally:
            node.stop()
    total = {"valid": 0, "cut off": 0, "invalid": 0}
    for (mode, temperature), row in sorted(counts.items()):
        print(f"{mode:9} temperature {temperature}: {row['valid']} valid, {row['cut off']} cut off, "
              f"{row['invalid']} invalid")
        total = {name: total[name] + row[name] for name in total}
    print(f"all: {total['valid']} valid, {total['cut off']} cut off, {total['invalid']} invalid")
    ended = total["valid"] + total["invalid"]
    return 0 if total["invalid"] == 0 and ended >= 9 * total["cut off"] else 1


if __name__ == "__main__":
    sys.exit(main())
