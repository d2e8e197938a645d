#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Trains the adapters of learn_dgr and learn_memory on one GPU, all domains side by side.

Every adapter is a LoRA on all linear layers that learns a domain's lessons as a deep round does: 8 maskings of
lessons and 2 of general text a step, the latter followed (KL to the model without adapter), Adam with warm-up and
linear decay. Each is written as OUT/DOMAIN.gguf, which a node loads like any adapter.

  build/release/bench/experiments/learn_dgr --model MODEL --corpus DIR --lessons-out LESSONS
  python3 bench/experiments/expert_arms.py --model MODEL --lessons LESSONS --out ADAPTERS --rank 32 --rate 1e-3
  build/release/bench/experiments/learn_dgr --model MODEL --corpus DIR --adapters ADAPTERS

Needs a CUDA device and PyTorch.
"""
import argparse
import pathlib
import struct
import time

import numpy as np
import torch

import replay_arms
import talora_arms as arms

LENGTH, BATCH, GENERAL_BATCH, GENERAL = 128, 8, 2, "general"


def write_adapter(path, name, pairs, rank):
    """pairs: by linear layer, (rank x in, rank x out); llama.cpp's layout, scale 1."""
    text = lambda s: struct.pack("<Q", len(s)) + s.encode()
    entry = lambda key, kind, value: text(key) + struct.pack("<I", kind) + value
    keys = [entry(k, 8, text(v)) for k, v in (("general.architecture", "dream"), ("general.type", "adapter"),
                                              ("general.name", name), ("adapter.type", "lora"))]
    keys.append(entry("adapter.lora.alpha", 6, struct.pack("<f", rank)))
    tensors = []
    for layer, (a, b) in pairs.items():
        tensors += [(layer + ".weight.lora_a", a), (layer + ".weight.lora_b", np.ascontiguousarray(b.T))]
    head, data = b"", b""
    for tensor, values in tensors:
        head += text(tensor) + struct.pack("<IQQIQ", 2, values.shape[1], values.shape[0], 0, len(data))
        data += values.astype("<f4").tobytes()
        data += b"\0" * (-len(data) % 32)
    head = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(keys)) + b"".join(keys) + head
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)


def train(task, domains, general, options):
    runs = len(domains)
    group = [dict(arm=arms.arm("expert", [None] * options.rank), lr=options.rate, seed=0)] * runs
    adapters = arms.Adapters(task.net, group, options.steps)
    lessons = [replay_arms.turns(pool, BATCH, options.steps) for pool in domains]
    others = replay_arms.turns(general, GENERAL_BATCH, options.steps)
    for step in range(options.steps):
        generator = torch.Generator().manual_seed(step * 31 + 17)
        masked, t = task.draw(BATCH, 0, generator)
        own = task.cross_entropy(torch.stack([l[step] for l in lessons]), masked, t, adapters, generator)
        (own * task.weights(masked, t, 0)).sum().backward()
        masked, t = task.draw(GENERAL_BATCH, 0, generator)
        logs = task.log_probabilities(others[step].expand(runs, -1, -1), masked, t, adapters, generator)
        with torch.no_grad():
            frozen = task.log_probabilities(others[step][None], masked, t, None, generator)
        ((frozen.exp() * (frozen - logs)).sum(-1) * task.weights(masked, t, 0)).sum().backward()
        adapters.step()
        if step % 60 == 59:
            print(f"step {step + 1}: {own.mean(1).tolist()}", flush=True)
    return adapters


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "lessons", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=480)
    options = parser.parse_args()
    device = torch.device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = True
    task = replay_arms.Task(arms.Network(options.model, device), LENGTH)
    read = lambda path: torch.from_numpy(np.fromfile(path, "<u4").astype(np.int64).reshape(-1, LENGTH)).to(device)
    files = sorted(pathlib.Path(options.lessons).glob("*.u32"))
    names = [f.stem for f in files if f.stem != GENERAL]
    pools = {f.stem: read(f) for f in files}
    begun = time.time()
    adapters = train(task, [pools[n] for n in names], pools[GENERAL], options)
    print(f"{len(names)} adapters, {options.steps} steps in {time.time() - begun:.0f} s", flush=True)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        pairs = {layer: (a[i].detach().cpu().numpy(), b[i].detach().cpu().numpy())
                 for layer, (a, b) in adapters.pairs.items()}
        write_adapter(out / f"{name}.gguf", name, pairs, options.rank)


if __name__ == "__main__":
    main()
