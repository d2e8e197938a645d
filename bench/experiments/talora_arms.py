#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Which arrangement of timestep banks pays? Many adapters trained side by side on one GPU.

Every run is a LoRA of all linear layers of the same frozen model on one domain. Its columns are switched
on by the masked share t of the sequence (of the block, in block diffusion), so that a static adapter,
hard banks, a trunk with residuals and so on are one program with different switches. Runs are trained in
groups, the adapters stacked, with equal batches and equal masks for every arm of a domain and seed.

Learning rates are chosen for each arm on the last documents of the training text. Arms are compared on
the validation text with common masks; intervals are bootstraps over seeds and documents within domains.

  python3 bench/experiments/talora_arms.py --model deploy/models/ruvdllm-29m.q8_0.gguf --tokenizer FILE.json \\
      --corpus DIR --out FILE.json        (DIR: DOMAIN.train.jsonl.gz, DOMAIN.valid.jsonl.gz, general.valid.jsonl.gz)

Needs a CUDA device, PyTorch and the tokenizers package.
"""
import argparse
import functools
import gzip
import json
import time
import zlib

import numpy as np
import torch

from frozen_network import LINEARS, Network

BOUNDARIES = (0.3, 0.6)


# ---------------------------------------------------------------------------------------------- noise
class Noise:
    """Exact-count masking, stratified over the sequences (blocks) of a batch, and what it makes of them."""

    def __init__(self, network, length, block):
        self.net, self.length, self.block = network, length, block
        index = torch.arange(length, device=network.device)
        if block == 0:
            self.positions, self.attention = network.positions(index), None
        else:
            self.positions = network.positions(torch.cat((index, index)))
            b = torch.cat((index, index)) // block
            clean = torch.arange(2 * length, device=network.device) >= length
            q, k, qc, kc = b[:, None], b[None, :], clean[:, None], clean[None, :]
            self.attention = (~qc & ~kc & (q == k)) | (~qc & kc & (k < q)) | (qc & kc & (k <= q))

    def draw(self, sequences, generator):
        """Masked (sequences x length) and t of every token's window."""
        window = self.block or self.length
        n = sequences * self.length // window
        u = (torch.arange(n) + torch.rand(n, generator=generator)) / n
        count = (u[torch.randperm(n, generator=generator)] * window).ceil().clamp(1, window)
        order = torch.rand(n, window, generator=generator).argsort(1).argsort(1)
        masked = (order < count[:, None]).view(sequences, self.length)
        t = (count / window)[:, None].expand(n, window).reshape(sequences, self.length)
        return masked.to(self.net.device), t.to(self.net.device)

    def inputs(self, clean, masked, t):
        """clean: runs x sequences x length; masked, t: sequences x length, common to the runs."""
        noisy = torch.where(masked, self.net.mask, clean)
        rows = self.rows(clean.shape[0], masked)
        targets = clean[masked.expand_as(clean)]
        if self.block == 0:
            return noisy, t, rows, targets
        return torch.cat((noisy, clean), 2), torch.cat((t, torch.zeros_like(t)), 1), rows, targets

    def rows(self, runs, masked):
        run, sequence, i = masked.expand(runs, *masked.shape).nonzero(as_tuple=True)
        length = self.length if self.block == 0 else 2 * self.length
        before = (i - 1).clamp(min=0)
        if self.block:  # a block's first token is predicted by the clean one before it
            before = torch.where((i % self.block == 0) & (i > 0), self.length + i - 1, before)
        return (run * masked.shape[0] + sequence) * length + before


# ---------------------------------------------------------------------------------------------- arms
def arm(name, columns, rates=None, shuffled=False, scaled=False, widen=None):
    """columns: the bank of each rank-one column (None: all t); rates: its share of the learning rate."""
    return dict(name=name, columns=columns, rates=rates or [1.0] * len(columns), shuffled=shuffled,
                scaled=scaled, widen=widen)


def arms(r):
    """All arms; the second half compares arrangements of about equal stored or active size."""
    trunk, banks = [None] * r, [k for k in range(3) for _ in range(r)]
    small = [k for k in range(3) for _ in range(r // 4)]
    rates = lambda share, more: [1.0] * r + [share] * len(more)
    return [
        arm(f"static-{r}", trunk),
        arm(f"static-{7 * r // 4}", [None] * (7 * r // 4)),
        arm(f"static-{2 * r}", [None] * (2 * r)),
        arm(f"static-{3 * r}", [None] * (3 * r)),
        arm(f"static-{4 * r}", [None] * (4 * r)),
        arm(f"banks-3x{r}", banks),
        arm(f"banks-3x{r}-shuffled", banks, shuffled=True),
        arm(f"trunk-{r}+3x{r}", trunk + banks, rates(1.0, banks)),
        arm(f"trunk-{r}+3x{r}-slow0.3", trunk + banks, rates(0.3, banks)),
        arm(f"trunk-{r}+3x{r}-slow0.1", trunk + banks, rates(0.1, banks)),
        arm(f"trunk-{r}+3x{r // 4}", trunk + small, rates(1.0, small)),
        arm(f"trunk-{r}+3x{r // 4}-slow0.3", trunk + small, rates(0.3, small)),
        arm(f"trunk-{r}+high-{r}", trunk + [2] * r, rates(1.0, [2] * r)),
        arm(f"trunk-{r}+high-{r}-slow0.3", trunk + [2] * r, rates(0.3, [2] * r)),
        arm(f"banks-{r // 4}/{3 * r // 4}/{2 * r}",
            [0] * (r // 4) + [1] * (3 * r // 4) + [2] * (2 * r)),
        arm(f"scales-{r}", trunk, scaled=True),
        arm(f"static-{r}-then-3x{r}", banks, widen=r),
    ]


class Adapters:
    """Stacked LoRAs of a group of runs with Adam."""

    def __init__(self, network, group, length_of_run):
        self.net, self.group = network, group
        self.rank = max(len(g["arm"]["columns"]) for g in group)
        dev, runs = network.device, len(group)
        self.bank = torch.full((runs, self.rank), -2, dtype=torch.long)  # -1: all t, -2: unused
        self.rate = torch.zeros(runs, self.rank)
        for i, g in enumerate(group):
            for k, (bank, rate) in enumerate(zip(g["arm"]["columns"], g["arm"]["rates"])):
                self.bank[i, k], self.rate[i, k] = -1 if bank is None else bank, rate
        self.narrow()
        self.bank, self.rate = self.bank.to(dev), self.rate.to(dev)
        self.lr = torch.tensor([g["lr"] for g in group], device=dev)
        self.scaled = torch.tensor([g["arm"]["scaled"] for g in group], device=dev)
        self.parameters, self.moments, self.names = [], [], []
        self.pairs = {}
        for i in range(network.layers):
            for linear in LINEARS:
                name = f"blk.{i}.{linear}"
                self.pairs[name] = self.add(name)
        # Per linear layer, run, bank and column: how much stronger the column is in that bank.
        self.scales = torch.zeros(runs, 3, self.rank, device=dev, requires_grad=True)
        self.parameters.append(self.scales)
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]
        self.steps, self.total = 0, length_of_run

    def narrow(self):
        """Arms that widen begin as a static adapter in their first columns."""
        for i, g in enumerate(self.group):
            if g["arm"]["widen"]:
                r = g["arm"]["widen"]
                self.bank[i], self.bank[i, :r] = -2, -1

    def add(self, name):
        out, width = self.net.w[name + ".weight"].shape
        a = torch.empty(len(self.group), self.rank, width)
        for i, g in enumerate(self.group):
            a[i] = first_columns(g["seed"], name, width)[:self.rank]
        a = a.to(self.net.device).requires_grad_()
        b = torch.zeros(len(self.group), self.rank, out, device=self.net.device, requires_grad=True)
        self.parameters += [a, b]
        return a, b

    def gate(self, t, generator):
        """runs x (sequences * length) x rank. t: sequences x length."""
        bank = torch.bucketize(t, torch.tensor(BOUNDARIES, device=t.device), right=True)
        # This stream is separate, because masks must not depend on whether there are adapters.
        assigned = torch.Generator().manual_seed(generator.initial_seed() + 1)
        random = torch.randint(0, 3, (t.shape[0], 1), generator=assigned).to(t.device).expand_as(bank)
        shuffled = torch.tensor([g["arm"]["shuffled"] for g in self.group], device=t.device)
        bank = torch.where(shuffled[:, None, None], random[None], bank[None]).flatten(1)
        on = (bank[:, :, None] == self.bank[:, None, :]) | (self.bank == -1)[:, None, :]
        scale = torch.gather(self.scales, 1, bank[:, :, None].expand(-1, -1, self.rank))
        return (on * (1 + scale * self.scaled[:, None, None])).bfloat16()

    def step(self):
        self.steps += 1
        n, done = self.steps, self.steps / self.total
        schedule = min(1.0, n / 10) * (1 - 0.9 * done)
        grads = [p.grad for p in self.parameters]
        squares = sum(g.flatten(1).pow(2).sum(1) for g in grads[:-1])
        clip = (1.0 / squares.sqrt().clamp(min=1e-12)).clamp(max=1.0)
        with torch.no_grad():
            for p, g, (m, v) in zip(self.parameters, grads, self.moments):
                g = g * clip[:, None, None]
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.99).add_(g * g, alpha=0.01)
                update = (m / (1 - 0.9 ** n)) / ((v / (1 - 0.99 ** n)).sqrt() + 1e-8)
                rate = self.lr[:, None, None] * schedule
                rate = rate * (10.0 if p is self.scales else self.rate[:, :, None])
                p.sub_(rate * update)
                p.grad = None
            if 2 * n == self.total:
                self.widen()

    def widen(self):
        for i, g in enumerate(self.group):
            r = g["arm"]["widen"]
            if not r:
                continue
            self.bank[i] = torch.tensor([k for k in range(3) for _ in range(r)] +
                                        [-2] * (self.rank - 3 * r), device=self.net.device)
            for p, (m, v) in list(zip(self.parameters, self.moments))[:-1]:
                for tensor in (p, m, v):
                    tensor[i, r:2 * r], tensor[i, 2 * r:3 * r] = tensor[i, :r], tensor[i, :r]


@functools.cache
def first_columns(seed, name, width, columns=64):
    """Orthonormal rows that A begins with, the same for every arm and group."""
    generator = torch.Generator().manual_seed(seed * 1000003 + zlib.crc32(name.encode()))
    q, _ = torch.linalg.qr(torch.randn(width, columns, generator=generator))
    return q.T.contiguous()


# ---------------------------------------------------------------------------------------------- text
def load_documents(path, tokenizer, limit):
    with gzip.open(path, "rt") as file:
        texts = [json.loads(line)["text"][:limit] for line in file]
    return [np.array(e.ids, dtype=np.int64) for e in tokenizer.encode_batch(texts)]


def crops_of(documents, length, each):
    """(document, tokens) crops, at most `each` of a document, spread over it."""
    result = []
    for i, d in enumerate(documents):
        n = len(d) // length
        for k in np.unique(np.linspace(0, n - 1, min(n, each)).astype(int)) if n else []:
            result.append((i, d[k * length:(k + 1) * length]))
    return result


class Domain:
    def __init__(self, path, name, tokenizer, length, device):
        documents = load_documents(f"{path}/{name}.train.jsonl.gz", tokenizer, 20000)
        held = max(8, len(documents) // 12)
        self.stream = torch.from_numpy(np.concatenate(documents[:-held])).to(device)
        self.tune = crops_of(documents[-held:], length, 4)[:160]
        valid = load_documents(f"{path}/{name}.valid.jsonl.gz", tokenizer, 200000)
        self.valid = crops_of(valid, length, 1 + 400 // len(valid))[:400]


# ---------------------------------------------------------------------------------------------- runs
def evaluate(network, noise, adapters, crops, samples, seed):
    """crops: for each run a list of (document, tokens), of equal length. Losses [runs x crops], the NELBO
    in nats per token, and sums and counts of cross-entropy by tenths of t, [runs x 10]."""
    runs, count, batch = len(crops), len(crops[0]), 16
    losses = torch.zeros(runs, count)
    bins = torch.zeros(2, runs, 10)
    tokens = torch.stack([torch.from_numpy(np.stack([c[1] for c in run])) for run in crops])
    for sample in range(samples):
        generator = torch.Generator().manual_seed(seed * 7919 + sample)
        for i in range(0, count, batch):
            clean = tokens[:, i:i + batch].to(network.device)
            masked, t = noise.draw(clean.shape[1], generator)
            x, tt, rows, targets = noise.inputs(clean, masked, t)
            with torch.no_grad():
                gate = adapters.gate(tt, generator) if adapters else None
                ce = network.losses(x, rows, targets, adapters and adapters.pairs, gate,
                                    noise.positions, noise.attention).view(runs, -1).cpu()
            at = masked.nonzero()[:, 0].cpu()
            share = t[masked].cpu()
            weight = 1 / share / noise.length
            losses[:, i:i + batch].index_add_(1, at, ce * weight)
            tenth = ((share * 10).ceil() - 1).clamp(0, 9).long()
            bins[0].index_add_(1, tenth, ce)
            bins[1].index_add_(1, tenth, torch.ones_like(ce))
    return losses.numpy() / samples, bins.numpy()


def train(network, noise, group, domains, options):
    adapters = Adapters(network, group, options.steps)
    streams = [domains[g["domain"]].stream for g in group]
    for step in range(options.steps):
        # Every arm of a domain and seed gets the same crops and masks.
        clean = torch.stack([
            crop_batch(s, options, g["seed"] * 100003 + step) for s, g in zip(streams, group)])
        generator = torch.Generator().manual_seed(step * 31 + 17)
        masked, t = noise.draw(options.batch, generator)
        x, tt, rows, targets = noise.inputs(clean, masked, t)
        gate = adapters.gate(tt, generator)
        ce = network.losses(x, rows, targets, adapters.pairs, gate, noise.positions, noise.attention)
        weight = (1 / t[masked]).clamp(max=4.0) / (options.batch * options.length)
        (ce.view(len(group), -1) * weight).sum().backward()
        adapters.step()
    return adapters


def crop_batch(stream, options, seed):
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(0, len(stream) - options.length, (options.batch,), generator=generator)
    index = start[:, None] + torch.arange(options.length)
    return stream[index.to(stream.device)]


def run_all(network, noise, plan, domains, general, options, tuning):
    """Trains and scores every run of the plan, in groups of equal memory."""
    plan.sort(key=lambda g: len(g["arm"]["columns"]))
    for i in range(0, len(plan), options.group):
        begun, group = time.time(), plan[i:i + options.group]
        adapters = train(network, noise, group, domains, options)
        for g in group:
            g["crops"] = domains[g["domain"]].tune if tuning else domains[g["domain"]].valid
        least = min(len(g["crops"]) for g in group)
        if tuning:
            losses, _ = evaluate(network, noise, adapters, [g["crops"][:least] for g in group], 2, 5)
            for g, row in zip(group, losses):
                g["score"] = float(row.mean())
        else:
            most = max(len(g["crops"]) for g in group)
            padded = [(g["crops"] * (most // len(g["crops"]) + 1))[:most] for g in group]
            losses, bins = evaluate(network, noise, adapters, padded, options.samples, 11)
            outside, _ = evaluate(network, noise, adapters, [general] * len(group), 2, 13)
            for k, g in enumerate(group):
                g["losses"] = losses[k][:len(g["crops"])]
                g["bins"], g["general"] = bins[:, k], float(outside[k].mean())
        for g in group:
            del g["crops"]
        print(f"runs {i}-{i + len(group)} of {len(plan)}: {time.time() - begun:.1f} s", flush=True)
        del adapters
        torch.cuda.empty_cache()


# ---------------------------------------------------------------------------------------------- report
def compare(plan, first, second, domains, rng, draws=2000):
    """Mean of first - second over domains, with an interval over seeds and documents."""
    tables = []
    for name, domain in domains.items():
        pick = lambda a: {g["seed"]: g["losses"] for g in plan
                          if g["domain"] == name and g["arm"]["name"] == a}
        one, two = pick(first), pick(second)
        difference = np.stack([one[s] - two[s] for s in sorted(one)])
        documents = np.array([c[0] for c in domain.valid])
        tables.append(np.stack([difference[:, documents == d].mean(1)
                                for d in np.unique(documents)], axis=1))
    values = np.zeros(draws)
    for t in tables:
        seeds, picked = (rng.integers(0, n, (draws, n)) for n in t.shape)
        values += t[seeds[:, :, None], picked[:, None, :]].mean((1, 2)) / len(tables)
    mean = float(np.mean([t.mean() for t in tables]))
    return mean, float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def report(plan, network, noise, domains, general, options, chosen):
    rng = np.random.default_rng(1)
    names = list(dict.fromkeys(g["arm"]["name"] for g in plan))
    names.sort(key=lambda n: next(len(g["arm"]["columns"]) for g in plan if g["arm"]["name"] == n))
    frozen = []
    outside, _ = evaluate(network, noise, None, [general], 2, 13)
    for name, domain in domains.items():
        losses, _ = evaluate(network, noise, None, [domain.valid], options.samples, 11)
        frozen.append(dict(domain=name, seed=0, losses=losses[0], arm=dict(name="frozen")))
    static = [n for n in names if n.startswith("static-") and n[7:].isdigit()]
    result = dict(options=vars(options), frozen={f["domain"]: float(f["losses"].mean()) for f in frozen},
                  general=float(outside.mean()), arms={},
                  documents={n: [int(c[0]) for c in d.valid] for n, d in domains.items()})
    for name in names:
        runs = [g for g in plan if g["arm"]["name"] == name]
        both = [g for g in runs] + [dict(f, seed=s) for f in frozen for s in {g["seed"] for g in runs}]
        bins = sum(g["bins"] for g in runs)
        row = dict(lr=chosen[name], stored=len(runs[0]["arm"]["columns"]),
                   gain=compare(both, name, "frozen", domains, rng),
                   general=float(np.mean([g["general"] for g in runs])) - result["general"],
                   by_t=[round(float(x), 4) for x in bins[0] / bins[1]])
        row["against"] = {base: compare(plan, name, base, domains, rng) for base in static}
        row["losses"] = {f"{g['domain']} {g['seed']}": [round(float(x), 5) for x in g["losses"]] for g in runs}
        result["arms"][name] = row
        f = lambda v: f"{v[0]:+.4f} [{v[1]:+.4f}, {v[2]:+.4f}]"
        print(f"{name:24} lr {row['lr']:.0e} gain {f(row['gain'])} general {row['general']:+.4f}",
              *(f"- {base} {f(row['against'][base])}" for base in static), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--domains", default="gamedev,iot,kubernetes,medicine,python,rust")
    parser.add_argument("--arms", default="", help="names, separated by commas; all by default")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--block", type=int, default=0, help="block diffusion with blocks of so many tokens")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=4, help="maskings of each validation crop")
    parser.add_argument("--rates", default="5e-4,1e-3,2e-3")
    parser.add_argument("--tuning-domains", default="kubernetes,medicine")
    parser.add_argument("--group", type=int, default=48, help="runs trained at once")
    options = parser.parse_args()

    from tokenizers import Tokenizer
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    network = Network(options.model, torch.device("cuda"))
    noise = Noise(network, options.length, options.block)
    tokenizer = Tokenizer.from_file(options.tokenizer)
    domains = {d: Domain(options.corpus, d, tokenizer, options.length, network.device)
               for d in options.domains.split(",")}
    documents = load_documents(f"{options.corpus}/general.valid.jsonl.gz", tokenizer, 200000)
    general = crops_of(documents, options.length, 8)[:384]
    every = [a for a in arms(options.rank) if not options.arms or a["name"] in options.arms.split(",")]

    rates = [float(x) for x in options.rates.split(",")]
    tune = [dict(arm=a, lr=lr, domain=d, seed=1000) for a in every for lr in rates
            for d in options.tuning_domains.split(",")]
    run_all(network, noise, tune, domains, general, options, tuning=True)
    chosen = {}
    for a in every:
        score = lambda lr: np.mean([g["score"] for g in tune if g["arm"] is a and g["lr"] == lr])
        chosen[a["name"]] = min(rates, key=score)
        print(a["name"], {lr: round(float(score(lr)), 4) for lr in rates}, flush=True)
    plan = [dict(arm=a, lr=chosen[a["name"]], domain=d, seed=s) for a in every for d in domains
            for s in range(options.seeds)]
    run_all(network, noise, plan, domains, general, options, tuning=False)
    result = report(plan, network, noise, domains, general, options, chosen)
    with open(options.out, "w") as file:
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
