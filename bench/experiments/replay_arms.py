#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""How should a deep round guard general text, and with what batches? Adapters trained side by side on one GPU.

Every arm is a LoRA on all linear layers, of rank 8 unless its name says another, that learns the ends of pieces
of a domain given their beginnings (--prompt tokens), as a node learns completions. Beside them a step has general text: none, much of
it, or a few passages that come again and again, either learned (replay) or followed (KL to the model without
adapter). Arms are scored on the ends of validation pieces and on general text, the adapter always on, in nats
per token less the model without adapter; intervals: 95 % bootstrap over documents.

  python3 bench/experiments/replay_arms.py --model deploy/models/ruvdllm-29m.q8_0.gguf --tokenizer FILE.json \\
      --corpus DIR --out FILE.json        (DIR: as of talora_arms.py, and general.train.jsonl.gz)

Needs a CUDA device, PyTorch and the tokenizers package.
"""
import argparse
import json
import time

import numpy as np
import torch
import torch.nn.functional as F

import talora_arms as arms

# name, steps, lessons and general pieces of a step, lessons in all (0: always new ones), general passages (0:
# always new ones), whether general text is followed, rank (8 where it is left out)
ARMS = [
    ("no general text", 400, 4, 0, 2000, 0, False),
    ("replay of much", 400, 4, 4, 2000, 0, False),
    ("replay of 8 passages", 400, 4, 4, 2000, 8, False),
    ("KL on 8 passages", 400, 4, 4, 2000, 8, True),
    ("KL on 8, 8 + 2", 300, 8, 2, 2000, 8, True),
    ("KL on 64, 8 + 2", 300, 8, 2, 2000, 64, True),
    ("KL on 8, 16 + 2", 250, 16, 2, 2000, 8, True),
    ("KL on 8, 8 + 2, long", 480, 8, 2, 2000, 8, True),
    ("KL on 8, 16 + 2, long", 400, 16, 2, 2000, 8, True),
    ("48 lessons, 1 epoch", 6, 8, 2, 48, 8, True),
    ("48 lessons, 4 epochs", 24, 8, 2, 48, 8, True),
    ("48 lessons, 8 epochs", 48, 8, 2, 48, 8, True),
    ("240 lessons, 1 epoch", 30, 8, 2, 240, 8, True),
    ("240 lessons, 4 epochs", 120, 8, 2, 240, 8, True),
    ("240 lessons, 8 epochs", 240, 8, 2, 240, 8, True),
    ("48 lessons, rank 8", 24, 8, 2, 48, 8, True),
    ("48 lessons, rank 32", 24, 8, 2, 48, 8, True, 32),
    ("240 lessons, rank 8", 120, 8, 2, 240, 8, True),
    ("240 lessons, rank 32", 120, 8, 2, 240, 8, True, 32),
    ("2000 lessons, rank 8", 480, 8, 2, 2000, 8, True),
    ("2000 lessons, rank 32", 480, 8, 2, 2000, 8, True, 32),
]


class Task:
    """Pieces of --length tokens of which those behind a prompt are masked."""

    def __init__(self, network, length):
        self.net, self.length = network, length
        self.positions = network.positions(torch.arange(length, device=network.device))

    def draw(self, sequences, prompt, generator):
        window = self.length - prompt
        u = (torch.arange(sequences) + torch.rand(sequences, generator=generator)) / sequences
        count = (u[torch.randperm(sequences, generator=generator)] * window).ceil().clamp(1, window)
        order = torch.rand(sequences, window, generator=generator).argsort(1).argsort(1)
        masked = torch.zeros(sequences, self.length, dtype=torch.bool)
        masked[:, prompt:] = order < count[:, None]
        t = (count / window)[:, None].expand(sequences, self.length)
        return masked.to(self.net.device), t.to(self.net.device)

    def log_probabilities(self, clean, masked, t, adapters, generator):
        """Of every masked token's place: runs x places x vocabulary. clean: runs x sequences x length."""
        net, (runs, sequences, length) = self.net, clean.shape
        tokens = torch.where(masked, net.mask, clean)
        gate = adapters.gate(t, generator) if adapters else None
        x = F.embedding(tokens, net.w["token_embd.weight"]).view(runs, sequences * length, net.width)
        for i in range(net.layers):
            x = net.layer(x, i, adapters and adapters.pairs, gate, self.positions, None, tokens.shape)
        run, sequence, i = masked.expand(runs, *masked.shape).nonzero(as_tuple=True)
        rows = (run * sequences + sequence) * length + (i - 1).clamp(min=0)
        x = net.norm(x, "output_norm.weight").reshape(-1, net.width)[rows]
        head = net.w.get("output.weight", net.w["token_embd.weight"])
        return F.linear(x, head).float().log_softmax(-1).view(runs, -1, head.shape[0])

    def cross_entropy(self, clean, masked, t, adapters, generator):
        logs = self.log_probabilities(clean, masked, t, adapters, generator)
        targets = clean[masked.expand_as(clean)].view(clean.shape[0], -1)
        return -logs.gather(2, targets[:, :, None])[:, :, 0]

    def weights(self, masked, t, prompt):
        return (1 / t[masked]).clamp(max=4.0) / (masked.shape[0] * (self.length - prompt))

    def evaluate(self, adapters, runs, crops, prompt, samples):
        """Losses, runs x crops."""
        tokens = torch.from_numpy(np.stack([c[1] for c in crops])).to(self.net.device)
        losses = torch.zeros(runs, len(crops))
        for sample in range(samples):
            generator = torch.Generator().manual_seed(99 + sample)
            for i in range(0, len(crops), 32):
                clean = tokens[i:i + 32]
                masked, t = self.draw(clean.shape[0], prompt, generator)
                with torch.no_grad():
                    ce = self.cross_entropy(clean[None].expand(runs, -1, -1), masked, t, adapters, generator)
                ce = (ce / t[masked] / (self.length - prompt)).cpu()
                losses[:, i:i + 32].index_add_(1, masked.nonzero()[:, 0].cpu(), ce)
        return losses.numpy() / samples


def crops(stream, count, length, seed):
    start = torch.randint(0, len(stream) - length, (count,), generator=torch.Generator().manual_seed(seed))
    return stream[(start[:, None] + torch.arange(length)).to(stream.device)]


def turns(pool, count, steps):
    """Batches of a fixed pool, every piece once an epoch."""
    generator, size = torch.Generator().manual_seed(77), pool.shape[0]
    order = torch.cat([torch.randperm(size, generator=generator) for _ in range(steps * count // size + 2)])
    return [pool[order[i * count:(i + 1) * count].to(pool.device)] for i in range(steps)]


def train(task, arm, rates, domain, general, options):
    _, steps, batch, general_batch, lessons, passages, follows, *rank = arm
    columns = [None] * (rank[0] if rank else 8)
    group = [dict(arm=arms.arm("static", columns), lr=lr, seed=0) for lr in rates]
    adapters, length = arms.Adapters(task.net, group, steps), options.length
    stream = lambda text, pool, count, seed: (
        turns(crops(text, pool, length, seed), count, steps) if pool else
        [crops(text, count, length, seed * 1000003 + i) for i in range(steps)])
    texts = stream(domain.stream, lessons, batch, 5)
    others = stream(general, passages, general_batch, 6) if general_batch else []
    wide = lambda clean: clean[None].expand(len(group), -1, -1)
    for step in range(steps):
        generator = torch.Generator().manual_seed(step * 31 + 17)
        masked, t = task.draw(batch, options.prompt, generator)
        ce = task.cross_entropy(wide(texts[step]), masked, t, adapters, generator)
        (ce * task.weights(masked, t, options.prompt)).sum().backward()
        if others:
            masked, t = task.draw(general_batch, 1, generator)
            if follows:
                logs = task.log_probabilities(wide(others[step]), masked, t, adapters, generator)
                with torch.no_grad():
                    frozen = task.log_probabilities(others[step][None], masked, t, None, generator)
                loss = (frozen.exp() * (frozen - logs)).sum(-1)
            else:
                loss = task.cross_entropy(wide(others[step]), masked, t, adapters, generator)
            (loss * task.weights(masked, t, 1)).sum().backward()
        adapters.step()
    return adapters


def interval(difference, documents, draws=2000):
    by_document = np.array([difference[documents == d].mean() for d in np.unique(documents)])
    rng = np.random.default_rng(1)
    means = by_document[rng.integers(0, len(by_document), (draws, len(by_document)))].mean(1)
    return [float(by_document.mean()), *(float(np.quantile(means, q)) for q in (0.025, 0.975))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "tokenizer", "corpus", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--domain", default="kubernetes")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=32, help="tokens of a piece that are given")
    parser.add_argument("--rates", default="1e-3,2e-3,3e-3")
    parser.add_argument("--samples", type=int, default=4, help="maskings of each validation piece")
    parser.add_argument("--arms", default="", help="only those whose names contain one of these words, by commas")
    options = parser.parse_args()
    chosen = [arm for arm in ARMS if any(word in arm[0] for word in options.arms.split(","))]
    if not chosen:
        parser.error(f"--arms {options.arms}: no such arm; there are: " + "; ".join(arm[0] for arm in ARMS))

    from tokenizers import Tokenizer
    torch.backends.cuda.matmul.allow_tf32 = True
    network = arms.Network(options.model, torch.device("cuda"))
    task, tokenizer = Task(network, options.length), Tokenizer.from_file(options.tokenizer)
    domain = arms.Domain(options.corpus, options.domain, tokenizer, options.length, network.device)
    read = lambda name: arms.load_documents(f"{options.corpus}/general.{name}.jsonl.gz", tokenizer, 20000)
    general = torch.from_numpy(np.concatenate(read("train"))).to(network.device)
    texts = [(domain.valid[:160], options.prompt), (arms.crops_of(read("valid"), options.length, 8)[:160], 1)]
    rates = [float(r) for r in options.rates.split(",")]
    frozen = [task.evaluate(None, 1, c, p, options.samples)[0] for c, p in texts]
    result = dict(options=vars(options), frozen=[float(f.mean()) for f in frozen], arms={})
    for arm in chosen:
        begun = time.time()
        adapters = train(task, arm, rates, domain, general, options)
        scores = [task.evaluate(adapters, len(rates), c, p, options.samples) for c, p in texts]
        result["arms"][arm[0]] = row = {}
        for k, rate in enumerate(rates):
            own, other = (interval(s[k] - f, np.array([c[0] for c in t[0]]))
                          for s, f, t in zip(scores, frozen, texts))
            row[f"{rate:g}"] = dict(domain=own, general=other)
            show = lambda v: f"{v[0]:+.3f} ({v[1]:+.3f} to {v[2]:+.3f})"
            print(f"{arm[0]:24} rate {rate:g} domain {show(own)} general {show(other)}", flush=True)
        print(f"  {arm[1]} steps in {time.time() - begun:.0f} s", flush=True)
    with open(options.out, "w") as file:
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
