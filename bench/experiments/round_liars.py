#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Lies of one member and the rules against them, for round_arms.py.

The lies are those of bench/update_attacks.cc: the liar knows all honest contributions of the round. The
rules are those of federation/daf/robust_rules.cc for equal weights, and for at least five contributions.
"""
import torch

ATTACKS = ("none", "absent", "sign-flip-3", "alie", "inner-product", "min-max", "min-sum")
FAR_NOW, FAR_PAST, AGAINST = 1.4, 1.6, 0.5  # federation/daf/outliers.cc
KEPT, LONGEST, FOLDED = 0.9, 4096, 1024  # federation/daf/running_mean.cc
KNOWN = 0.4  # weight of five contributions: 1 - 0.9 ** 5


def lie(attack, honest, own, round_):
    """honest: contributions x values. Returns what the liar gives in a round; `alie Z` has Z for 1.22."""
    if attack.startswith("third "):  # honest in two rounds of three
        return lie(attack[6:], honest, own, round_) if round_ % 3 == 2 else own
    mean = honest.mean(0)
    if attack == "sign-flip-3":
        return -3 * mean
    if attack == "inner-product":
        return -0.5 * mean
    if attack.startswith("alie"):
        return mean - float(attack[5:] or 1.22) * honest.std(0, correction=0)
    if attack in ("min-max", "min-sum"):
        worst = (lambda d: d.max()) if attack == "min-max" else (lambda d: d.sum())
        bound = max(worst((honest - one).square().sum(1)) for one in honest)
        direction = mean / mean.norm().clamp(min=1e-30)
        low, high = 0.0, float(10 * bound.sqrt() + 1e-12)
        for _ in range(40):
            middle = (low + high) / 2
            if worst((honest - mean + middle * direction).square().sum(1)) <= bound:
                low = middle
            else:
                high = middle
        return mean - low * direction
    raise SystemExit(f"no attack {attack}; there are {', '.join(ATTACKS)}")


class Rule:
    """Combines the contributions of each round: mean, nearest or filtered (the default of nodes)."""

    def __init__(self, name, faulty=0.25):
        if name not in ("mean", "nearest", "filtered"):
            raise SystemExit(f"no rule {name}; there are mean, nearest and filtered")
        self.name, self.faulty = name, faulty
        self.means, self.weights = None, None
        self.left_out = []  # by round

    def tolerated(self, count):
        return min(max(1, int(self.faulty * count + 1e-9)), (count - 1) // 2)

    def combine(self, updates, given):
        """updates: nodes x values; given: which nodes contribute. Returns one contribution."""
        at = torch.tensor(given, device=updates.device).nonzero()[:, 0]
        now = updates[at]
        if self.name == "mean":
            return now.mean(0)
        if self.name == "nearest":
            return self.nearest(now)
        kept = torch.ones(len(at), dtype=torch.bool, device=at.device)
        past = self.remember(updates, at)
        for _ in range(self.tolerated(len(at))):
            apart = torch.maximum(distances(now[kept]) / FAR_NOW, disagreements(now[kept]) / AGAINST)
            known = self.weights[at, 0][kept] > KNOWN
            if int(known.sum()) >= 5:
                old = past[kept][known]
                apart[known] = torch.stack((apart[known], distances(old) / FAR_PAST,
                                            disagreements(old) / AGAINST)).max(0).values
            if float(apart.max()) <= 1:
                break
            kept[kept.nonzero()[:, 0][apart.argmax()]] = False
        self.left_out.append([int(i) for i in at[~kept]])
        return now[kept].mean(0)

    def remember(self, updates, at):
        updates = fold(updates)
        if self.means is None:
            self.means, self.weights = torch.zeros_like(updates), torch.zeros(len(updates), 1, device=updates.device)
        self.means[at] = KEPT * self.means[at] + (1 - KEPT) * updates[at]
        self.weights[at] = KEPT * self.weights[at] + 1 - KEPT
        return self.means[at] / self.weights[at]

    def nearest(self, updates):
        count = len(updates)
        wrong = self.tolerated(count)
        nearest = torch.cdist(updates, updates, compute_mode="donot_use_mm_for_euclid_dist")
        nearest = nearest.topk(count - wrong, largest=False).indices
        mixed = updates[nearest].mean(1)
        return mixed.sort(0).values[wrong:count - wrong].mean(0)


def fold(updates):
    """With other signs than the node has."""
    length = updates.shape[1]
    if length <= LONGEST:
        return updates
    signs = torch.randint(0, 2, (length,), generator=torch.Generator().manual_seed(5)) * 2 - 1
    at = (torch.arange(length) % FOLDED).to(updates.device)
    folded = torch.zeros(len(updates), FOLDED, device=updates.device)
    return folded.index_add_(1, at, updates * signs.to(updates.device))


def lower_median(values):
    return values.sort().values[(len(values) - 1) // 2]


def distances(values):
    """Of each row from the mean of the others, over their lower median."""
    d = (values - values.mean(0)).norm(dim=1)
    return d / lower_median(d).clamp(min=1e-30)


def disagreements(values):
    """How far the cosine of each row and the sum of the others is below the lower median."""
    cosines = torch.nn.functional.cosine_similarity(values, values.sum(0) - values, dim=1)
    return lower_median(cosines) - cosines
