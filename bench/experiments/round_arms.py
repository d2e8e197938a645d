#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Which recipe of federated rounds pays? Rounds of several nodes, many recipes side by side on one GPU.

A node trains R-cores in the frame of a frozen model (y += P R Q x) as federation/learner does. A plan is
a JSON list of groups {"common": {...}, "arms": [{...}]}; the fields are those of GROUP and ARM below. The
arms of a group share texts, masks and samples, and their cores are stacked. Kind `delta`: local steps of
AdamW, then a mean of the changes; kind `gradient`: one clipped, noised sum a round, then FedAdam.

Scores are the NELBO of the last 96 of 128 tokens on common masks, less that of the frozen model; the
intervals are bootstraps over documents within domains and know no seeds.

  python3 bench/experiments/round_pieces.py --corpus DIR --out PIECES.json.xz
  python3 bench/experiments/round_arms.py --model NAME.gguf --frame NAME.frame.gguf --pieces PIECES.json.xz \\
      --plan PLAN.json --out FILE.json        (round_plan.json beside this file has the arms of round-arms.json)

Needs a CUDA device and PyTorch.
"""
import argparse
import json
import lzma
import math
import time

import numpy as np
import torch

from round_liars import Rule, lie
from round_model import LENGTH, Network, corrupt
from round_privacy import sigma_of, signal_of

GIVEN, CLAMP = 32, 4.0
MAX_NORM = 16.0  # of one contribution
WINDOW = 16  # rounds; a node that gave to one of the last WINDOW counts for the quorum
FADES = (0.7, 0.85)  # what a running mean of the rounds' cores keeps of itself in each round

GROUP = dict(name="", kind="delta", rounds=20, steps=12, batch=8, nodes=6, lessons=2000, given=0, seed=1,
             frame="",  # or public, domains: a frame made of such texts instead of the shipped one
             replay=0, pool=256,  # delta: public pieces in every batch, out of so many
             variants=False,  # whether shrunk cores and means of the rounds' cores are scored
             rate=0.0,  # gradient: probability with which a lesson, or a user, is in a sample
             users=0,  # gradient: of a node, among whom its documents are shared out; 0: lessons are the unit
             checks=[])  # rounds after which the global core is scored
ARM = dict(
    name="", mode="federated",  # or local: nodes never meet; central: one core, gradients averaged each step
    rank=8, lr=3e-3,
    schedule="constant",  # in a round: constant, linear, cosine (a tenth of warm-up); over all rounds: run, warm
    keep="none",  # of the local optimiser from round to round: none, second, both
    prox=0.0, decay=0.0, local_epsilon=1e-8,
    anchor=0.0,  # weight of the loss of the replayed pieces
    ewc=0.0,  # weight of the Fisher information of public text (of whole sequences) around the frozen model
    outer="plain", step=1.0, momentum=0.9, beta1=0.9, beta2=0.99, epsilon=1e-3,
    tier="masked", privacy=8.0, clip=2.0,  # gradient; privacy 0: no noise
    nominal=0.0,  # divisor of a node's sum; 0: its expected sample
    participation=1.0,  # the chance that a node contributes to a round; the same coins in all arms
    quorum=0.0,  # the share of the nodes of the last WINDOW rounds below which a step is shorter
    # What the last node gives: round_liars.ATTACKS; absent: nothing. Gradients of tier dp or without noise only
    attack="none",
    rule="mean")  # or nearest, filtered: round_liars.Rule


# ---------------------------------------------------------------------------------------------- scores
class Scores:
    def __init__(self, network, valid):
        self.net, self.sets = network, list(valid)
        self.tokens = torch.tensor([c[1] for s in self.sets for c in valid[s]], device=network.device)
        self.set_of = np.array([i for i, s in enumerate(self.sets) for _ in valid[s]])
        self.documents = np.array([c[0] for s in self.sets for c in valid[s]])
        self.base = {d: self.losses(None, 1, d)[0] for d in (1, 4)}

    @torch.no_grad()
    def losses(self, cores, runs, draws):
        """runs x pieces, in nats per token."""
        total, count = np.zeros((runs, len(self.tokens))), max(8, 1024 // runs)
        for draw in range(draws):
            generator = torch.Generator(self.net.device).manual_seed(7919 + draw)
            masks = [corrupt((int((self.set_of == s).sum()),), LENGTH - GIVEN, True, generator,
                             self.net.device) for s in range(len(self.sets))]
            masked, t = (torch.cat(parts) for parts in zip(*masks))
            for at in range(0, len(self.tokens), count):
                clean, m = self.tokens[at:at + count], masked[at:at + count]
                noisy = torch.where(m, self.net.mask, clean)
                place = m.flatten().nonzero()[:, 0]
                every = (torch.arange(runs, device=place.device)[:, None] * m.numel() + place).flatten()
                nats, _ = self.net.nats(noisy.repeat(runs, 1), cores, every,
                                        clean.flatten()[place].repeat(runs), torch.zeros_like(every).float())
                weight = 1 / (t[at:at + count] * (LENGTH - GIVEN))
                sums = torch.zeros(runs, len(m), device=place.device)
                sums.index_add_(1, place // LENGTH, nats.view(runs, -1) * weight[place // LENGTH])
                total[:, at:at + count] += sums.cpu().numpy()
        return total / draws

    def summary(self, losses, draws, own=None):
        """Changes of one core; `own`: the number of the domain that is its own, if it is a node's."""
        change, rng = losses - self.base[draws], np.random.default_rng(3)
        means, boots = [], []
        for s in range(len(self.sets)):
            c, d = change[self.set_of == s], self.documents[self.set_of == s]
            numbers, at = np.unique(d, return_inverse=True)
            sums, sizes = np.bincount(at, c), np.bincount(at)
            drawn = rng.integers(0, len(numbers), (1000, len(numbers)))
            means.append(float(c.mean()))
            boots.append(sums[drawn].sum(1) / sizes[drawn].sum(1))
        interval = lambda b: [float(np.quantile(b, 0.025)), float(np.quantile(b, 0.975))]
        domains = [i for i, s in enumerate(self.sets) if s != "general" and i != own]
        g = self.sets.index("general")
        base = float(self.base[draws][self.set_of == g].mean())
        return dict(domains=float(np.mean([means[i] for i in domains])),
                    interval=interval(np.mean([boots[i] for i in domains], axis=0)),
                    worst=max(means[i] for i in domains), own=None if own is None else means[own],
                    general=means[g], general_interval=interval(boots[g]), percent=100 * means[g] / base,
                    by_set={s: round(m, 4) for s, m in zip(self.sets, means)})

    def federated(self, cores, draws):
        losses = self.losses(cores, len(cores), draws)
        return [self.summary(row, draws) for row in losses]

    def local(self, cores, draws):
        """cores: arms x nodes. Means over nodes: change on the own and on the other domains."""
        result = []
        for arm in cores:
            losses = self.losses(arm.contiguous(), len(arm), draws)
            own = [self.summary(row, draws, own=n) for n, row in enumerate(losses)]
            mean = lambda key: float(np.mean([s[key] for s in own]))
            result.append(dict(own=mean("own"), domains=mean("domains"), general=mean("general"),
                               percent=mean("percent"), own_by_node=[round(s["own"], 4) for s in own]))
        return result


# ---------------------------------------------------------------------------------------------- rounds
class Outer:
    """federation/daf/outer_optimizer.cc, one for each arm."""

    def __init__(self, arm):
        self.arm, self.first, self.second, self.noise, self.steps = arm, 0.0, 0.0, 0.0, 0

    def move(self, delta, variance=0.0):
        a = self.arm
        self.steps += 1
        if a["outer"] == "plain":
            return a["step"] * delta
        if a["outer"] in ("momentum", "nesterov"):
            self.first = a["momentum"] * self.first + delta
            return a["step"] * (a["momentum"] * self.first + delta if a["outer"] == "nesterov" else self.first)
        self.first = a["beta1"] * self.first + (1 - a["beta1"]) * delta
        self.second = a["beta2"] * self.second + (1 - a["beta2"]) * delta * delta
        self.noise = a["beta2"] * self.noise + (1 - a["beta2"]) * variance
        signal = (self.second - self.noise).clamp(min=self.noise / 4) / (1 - a["beta2"] ** self.steps)
        return a["step"] * self.first / (1 - a["beta1"] ** self.steps) / (signal.sqrt() + a["epsilon"])


def share_of(arm, step, steps, round_, rounds):
    """Of the learning rate, at a step of a round."""
    if arm["schedule"] == "constant":
        return 1.0
    if arm["schedule"] == "linear":
        return 1 - step / steps
    if arm["schedule"] == "cosine":
        warm = max(1, steps // 10)
        done = (step - warm) / max(1, steps - warm)
        return (step + 1) / (warm + 1) if step < warm else 0.05 + 0.475 * (1 + math.cos(math.pi * done))
    if arm["schedule"] == "run":
        return 1 - 0.9 * (round_ + step / steps) / rounds
    if arm["schedule"] == "warm":  # over the first rounds
        return min(1.0, (round_ + 1) / 5)
    raise SystemExit(f"no schedule {arm['schedule']}")


class Group:
    def __init__(self, network, lessons, documents, public, scores, spec):
        self.net, self.scores, self.public = network, scores, public
        self.g = dict(GROUP, **spec["common"])
        self.arms = [dict(ARM, **a) for a in spec["arms"]]
        g, dev = self.g, network.device
        at = [i * 2000 // g["lessons"] for i in range(g["lessons"])]
        self.lessons = torch.stack([lessons[n][at] for n in range(g["nodes"])])
        self.units = g["users"] or g["lessons"]
        # The unit of each lesson of each node
        owner = [np.unique([documents[n][i] for i in at], return_inverse=True)[1] % self.units
                 if g["users"] else np.arange(g["lessons"]) for n in range(g["nodes"])]
        self.owner = torch.tensor(np.array(owner), device=dev)
        self.rank, self.span = max(a["rank"] for a in self.arms), LENGTH - g["given"]
        self.random = torch.Generator(dev).manual_seed(g["seed"])
        if g["frame"] not in network.frames:
            texts = public if g["frame"] == "public" else self.lessons.flatten(0, 1)[::10]
            network.make_frame(g["frame"], texts, 128, self.random)
        network.use_frame(g["frame"], self.rank)
        self.cores = torch.zeros(len(self.arms), network.modules, self.rank, self.rank, device=dev)
        self.used = torch.zeros(len(self.arms), 1, self.rank, self.rank, device=dev)
        for i, a in enumerate(self.arms):
            self.used[i, :, :a["rank"], :a["rank"]] = 1
        self.outers = [Outer(a) for a in self.arms]
        self.rules = [Rule(a["rule"]) for a in self.arms]
        self.coins = np.random.default_rng(g["seed"])
        # The newest round to which each node contributed
        self.newest = np.full((len(self.arms), g["nodes"]), -WINDOW - 1)
        self.results = [dict(group=g["name"], arm=a, checks={}) for a in self.arms]

    def column(self, key):
        return torch.tensor([float(a[key]) for a in self.arms], device=self.net.device).view(-1, 1, 1, 1, 1)

    def contributors(self, round_):
        """By arm, which nodes contribute to a round, at least one, and its share of a whole step."""
        coins = self.coins.random(self.g["nodes"])
        given = np.array([coins <= max(a["participation"], coins.min()) for a in self.arms])
        given[[a["attack"] == "absent" for a in self.arms], -1] = False
        self.newest[given] = round_
        active = (self.newest + WINDOW >= round_).sum(1)
        quorum = np.array([a["quorum"] for a in self.arms]) * active
        return given, np.minimum(1, given.sum(1) / np.maximum(1e-9, quorum))

    def combined(self, i, values, given, round_):
        """values: nodes x modules x rank x rank. Returns what the rule makes of those that are given."""
        arm = self.arms[i]
        if arm["attack"] not in ("none", "absent"):
            values = values.clone()
            values[-1] = lie(arm["attack"], values[:-1].flatten(1), values[-1].flatten(), round_).view_as(values[-1])
        values = values.flatten(1)
        values = values * (MAX_NORM / values.norm(dim=1, keepdim=True).clamp(min=MAX_NORM))
        return self.rules[i].combine(values, given).view(self.cores.shape[1:])

    def run(self):
        begun = time.time()
        self.delta() if self.g["kind"] == "delta" else self.gradient()
        torch.cuda.synchronize()
        for r, rule in zip(self.results, self.rules):
            r["left_out"] = rule.left_out
        print(f"{self.g['name']}: {len(self.arms)} arms, {time.time() - begun:.1f} s", flush=True)
        return self.results

    def check(self, round_, cores, local=()):
        last = round_ == self.g["rounds"]
        if not last and round_ not in self.g["checks"]:
            return
        draws = 4 if last else 1
        for r, s in zip(self.results, self.scores.federated(cores, draws)):
            r["checks"][round_] = s
        if last and self.g["variants"]:
            others = [("x0.7", 0.7 * cores), ("x0.5", 0.5 * cores), ("mean", self.tail / self.tails)]
            others += [(f"fade {f}", mean / (1 - f ** round_)) for f, mean in self.running.items()]
            for name, other in others:
                for r, s in zip(self.results, self.scores.federated(other, draws)):
                    r["checks"][name] = s
        for i, s in zip(local, self.scores.local(self.theta.detach()[list(local)], draws) if local else ()):
            self.results[i]["checks"][round_] = s

    def losses(self, clean, masked, t, cores, shares):
        """Sum of clamped losses times shares (arms x sequences); all arms see the same sequences."""
        arms = len(self.arms)
        place = masked.flatten().nonzero()[:, 0]
        every = (torch.arange(arms, device=place.device)[:, None] * masked.numel() + place).flatten()
        noisy = torch.where(masked, self.net.mask, clean).view(-1, LENGTH)
        weight = shares * (1 / t.flatten()).clamp(max=CLAMP) / self.span
        return self.net.nats(noisy.repeat(arms, 1), cores, every, clean.flatten()[place].repeat(arms),
                             weight[:, place // LENGTH].flatten())[1]

    def example_gradients(self, clean, stratified):
        """Gradients of all arms by each piece: arms x pieces x modules x rank x rank."""
        masked, t = corrupt((len(clean),), self.span, stratified, self.random, self.net.device)
        cores = self.cores[:, None].expand(-1, len(clean), -1, -1, -1)
        cores = cores.reshape(-1, *self.cores.shape[1:]).requires_grad_()
        self.losses(clean, masked, t, cores, torch.ones(len(self.arms), len(clean), device=t.device)).backward()
        return cores.grad.view(len(self.arms), len(clean), *self.cores.shape[1:]) * self.used[:, None]

    def find_fisher(self):
        """The mean squared gradient of public pieces at the frozen model, for the arms that are held by it."""
        self.fisher = None
        if any(a["ewc"] for a in self.arms):
            parts = self.public.split(max(8, 640 // len(self.arms)))
            self.fisher = sum(self.example_gradients(p, True).pow(2).sum(1) for p in parts) / len(self.public)

    # Kind delta
    def delta(self):
        g, arms, nodes = self.g, len(self.arms), self.g["nodes"]
        shape = (arms, nodes, *self.cores.shape[1:])
        self.theta = torch.zeros(shape, device=self.net.device, requires_grad=True)
        self.first, self.second = torch.zeros(shape, device=self.net.device), torch.zeros(shape, device=self.net.device)
        self.counts = [[0, 0] for _ in self.arms]  # steps of both means
        local = [i for i, a in enumerate(self.arms) if a["mode"] == "local"]
        alone = [i for i, a in enumerate(self.arms) if a["mode"] != "federated"]
        self.tail, self.tails = torch.zeros_like(self.cores), (g["rounds"] + 1) // 2
        self.running = {f: torch.zeros_like(self.cores) for f in FADES}
        self.find_fisher()
        shares = torch.full((arms, nodes, g["batch"] + g["replay"]), 1 / g["batch"], device=self.net.device)
        for i, a in enumerate(self.arms):
            shares[i, :, g["batch"]:] = a["anchor"] / max(1, g["replay"])
        for round_ in range(g["rounds"]):
            order = torch.stack([torch.cat([torch.randperm(g["lessons"], generator=self.random, device=self.net.device)
                                            for _ in range(1 + g["steps"] * g["batch"] // g["lessons"])])
                                 for _ in range(nodes)])[:, :g["steps"] * g["batch"]]
            order = order.view(nodes, g["steps"], g["batch"])
            masked, t = corrupt((g["steps"], nodes, g["batch"]), self.span, True, self.random, self.net.device)
            if g["replay"]:
                more = corrupt((g["steps"], nodes, g["replay"]), self.span, True, self.random, self.net.device)
                masked, t = (torch.cat(pair, dim=2) for pair in zip((masked, t), more))
                picked = torch.randint(0, g["pool"], (g["steps"], nodes, g["replay"]), generator=self.random,
                                       device=self.net.device)
            node = torch.arange(nodes, device=self.net.device)[:, None]
            for i, a in enumerate(self.arms):
                if i in alone or a["keep"] == "both":
                    continue
                self.first[i], self.counts[i][0] = 0, 0
                if a["keep"] == "none":
                    self.second[i], self.counts[i][1] = 0, 0
            for step in range(g["steps"]):
                clean = self.lessons[node, order[:, step]]
                if g["replay"]:
                    clean = torch.cat((clean, self.public[picked[step]]), dim=1)
                self.losses(clean, masked[step], t[step], self.theta.view(-1, *shape[2:]),
                            shares.flatten(1)).backward()
                self.adam(step, round_)
            with torch.no_grad():
                self.meet(round_, alone)
                if 2 * (round_ + 1) > g["rounds"]:
                    self.tail += self.cores
                for fade, mean in self.running.items():
                    mean.mul_(fade).add_(self.cores, alpha=1 - fade)
            self.check(round_ + 1, self.cores, local)

    @torch.no_grad()
    def adam(self, step, round_):
        g = self.g
        grad = self.theta.grad * self.used[:, None]
        self.theta.grad = None
        for i, a in enumerate(self.arms):
            if a["mode"] == "central":
                grad[i] = grad[i].mean(0, keepdim=True)
        grad += self.column("prox") * (self.theta - self.cores[:, None])
        if self.fisher is not None:
            grad += self.column("ewc") * self.fisher[:, None] * self.theta
        norm = grad.flatten(2).norm(dim=2)
        grad *= (1 / norm.clamp(min=1)).view(*norm.shape, 1, 1, 1)
        self.norm = norm
        for count in self.counts:
            count[0] += 1
            count[1] += 1
        column = lambda values: torch.tensor(values, device=grad.device).view(-1, 1, 1, 1, 1)
        self.first.lerp_(grad, 0.1)
        self.second.lerp_(grad * grad, 0.01)
        first = self.first / column([1 - 0.9 ** c[0] for c in self.counts])
        second = self.second / column([1 - 0.99 ** c[1] for c in self.counts])
        rate = column([a["lr"] * share_of(a, step, g["steps"], round_, g["rounds"]) for a in self.arms])
        step = first / (second.sqrt() + self.column("local_epsilon"))
        self.theta -= rate * (step + self.column("decay") * self.theta)

    def meet(self, round_, alone):
        change = self.theta - self.cores[:, None]
        norm = change.flatten(2).norm(dim=2)
        given, shares = self.contributors(round_)
        mean = torch.stack([self.combined(i, change[i], given[i], round_) * shares[i] for i in range(len(self.arms))])
        for i, arm in enumerate(self.arms):
            if i in alone:
                self.cores[i] = self.theta[i].mean(0)  # central: they are all the same
                continue
            length = shares[i] if arm["outer"] == "adam" else 1
            self.cores[i] += length * self.outers[i].move(mean[i])
            self.theta[i] = self.cores[i]
        for i, r in enumerate(self.results):
            r.setdefault("norms", []).append(round(float(norm[i].mean()), 3))
            r.setdefault("agree", []).append(round(float(mean[i].norm() / norm[i].mean()), 3))
            r["gradient_norm"] = round(float(self.norm[i].mean()), 3)
            r["size"] = round(float(self.cores[i].norm()), 3)

    # Kind gradient
    def gradient(self):
        g, nodes, dev = self.g, self.g["nodes"], self.net.device
        expected = g["rate"] * self.units
        noises = []
        for arm, result in zip(self.arms, self.results):
            sigma = sigma_of(arm["privacy"], g["rate"], g["rounds"]) if arm["privacy"] else 0.0
            honest = nodes - nodes // 3
            # Noise of the sum of all nodes, and what the optimiser is told of it, in clip norms
            whole = sigma * math.sqrt(nodes / honest if arm["tier"] == "masked" else nodes)
            told = sigma if arm["tier"] == "masked" else sigma * math.sqrt(nodes)
            divisor = nodes * (arm["nominal"] or expected)
            noises.append((whole * arm["clip"] / divisor, told * arm["clip"] / divisor, divisor))
            result.update(sigma=round(sigma, 3), expected=expected)
        self.find_fisher()
        clips = self.column("clip").view(-1, 1) * (1 - 1 / 64)
        noise_random = torch.Generator(dev).manual_seed(g["seed"] + 77)
        for round_ in range(g["rounds"]):
            sample = torch.rand(nodes, self.units, generator=self.random, device=dev) < g["rate"]
            number = sample.flatten().cumsum(0) - 1  # of a unit of the sample
            node_of = sample.nonzero()[:, 0]
            chosen = sample.gather(1, self.owner).nonzero()
            given, shares = self.contributors(round_)
            counts = torch.tensor(given, device=dev).float()  # arms x nodes
            sums = torch.zeros(len(self.arms), nodes, *self.cores.shape[1:], device=dev)
            units = torch.zeros(len(self.arms), len(node_of), *self.cores.shape[1:], device=dev)
            for at in range(0, len(chosen), max(8, 640 // len(self.arms))):
                part = chosen[at:at + max(8, 640 // len(self.arms))]
                clean = self.lessons[part[:, 0], part[:, 1]]
                owner = part[:, 0] * self.units + self.owner[part[:, 0], part[:, 1]]
                units.index_add_(1, number[owner], self.example_gradients(clean, False))
            norms = units.flatten(2).norm(dim=2)
            units *= (clips / norms.clamp(min=clips)).view(*norms.shape, 1, 1, 1)
            signal = signal_of(units)
            units *= counts[:, node_of].view(*norms.shape, 1, 1, 1)
            sums.index_add_(1, node_of, units)
            for i, arm in enumerate(self.arms):
                # Fewer nodes divide the sum by less. The noise of a masked sum stays whole.
                present, share = given[i].mean(), shares[i]
                deviation, told = (n / (present if arm["tier"] == "masked" else present ** 0.5)
                                   for n in noises[i][:2])
                divisor = noises[i][2] * present
                noise = torch.randn(self.cores[i].shape, generator=noise_random, device=dev) * self.used[i]
                delta = -sums[i].sum(0) / divisor
                if arm["rule"] != "mean" or arm["attack"] != "none":
                    delta, noise = self.with_liars(i, sums[i], noises[i][0], given[i], round_), 0.0
                if arm["ewc"]:
                    delta -= arm["ewc"] * self.fisher[i] * self.cores[i]
                r = self.results[i]
                r.setdefault("snr", []).append(round(float(delta.norm() / max(1e-12, deviation * math.sqrt(
                    float(self.used[i].sum()) * self.net.modules))), 2))
                r.setdefault("norms", []).append(round(float(norms[i].median()), 3))
                r.setdefault("signal", []).append(round(signal[i] / arm["clip"], 4))
                moved = self.outers[i].move(share * (delta + deviation * noise), (share * told) ** 2)
                self.cores[i] += (share if arm["outer"] == "adam" else 1) * moved * self.used[i]
                r["size"] = round(float(self.cores[i].norm()), 3)
            self.check(round_ + 1, self.cores)

    def with_liars(self, i, sums, deviation, given, round_):
        """Each node adds noise of its own (tier dp); it is the same in all arms of a group."""
        nodes = self.g["nodes"]
        nominal = self.arms[i]["nominal"] or self.g["rate"] * self.units
        random = torch.Generator(sums.device).manual_seed(1000 * self.g["seed"] + round_)
        noise = torch.randn(sums.shape, generator=random, device=sums.device) * self.used[i]
        # The noise of a mean of n nodes is 1/sqrt(n) of that of each.
        return self.combined(i, -sums / nominal + deviation * math.sqrt(nodes) * noise, given, round_)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "frame", "pieces", "plan", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no group is begun")
    options = parser.parse_args()
    begun = time.time()
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda")
    network = Network(options.model, options.frame, device)
    with lzma.open(options.pieces, "rt") as file:
        pieces = json.load(file)
    lessons = [torch.tensor([c[1] for c in v], device=device) for v in pieces["train"].values()]
    documents = [[c[0] for c in v] for v in pieces["train"].values()]
    public = torch.tensor([c[1] for c in pieces["public"]], device=device)
    scores = Scores(network, pieces["valid"])
    result = dict(model=options.model, device=torch.cuda.get_device_name(), arms=[], frozen={
        s: float(scores.base[4][scores.set_of == i].mean()) for i, s in enumerate(scores.sets)})
    print(result["frozen"], f"{time.time() - begun:.1f} s", flush=True)
    with open(options.plan) as file:
        plan = json.load(file)
    for spec in plan:
        if time.time() - begun > options.limit:
            print("left out:", spec["common"]["name"], flush=True)
            continue
        for r in Group(network, lessons, documents, public, scores, spec).run():
            r["common"] = dict(GROUP, **spec["common"])
            result["arms"].append(r)
            last = r["checks"][r["common"]["rounds"]]
            f = lambda key: "-" if last.get(key) is None else f"{last[key]:+.4f}"
            print(f"  {r['arm']['name']:34} domains {f('domains')} own {f('own')} worst {f('worst')} "
                  f"general {f('general')} {last['percent']:+.2f} %", flush=True)
        torch.cuda.empty_cache()
        result["seconds"] = time.time() - begun
        with open(options.out, "w") as file:
            json.dump(result, file)


if __name__ == "__main__":
    main()
