# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes the recorded case of the token memory, with PyTorch: `python3 token_memory_case.py
# token_memory_case.json`. The keys have 64 values of plus or minus 1 / 8, which the stored eight bits
# hold to 6e-5, so that the node must agree to 1e-4. There is one row of scores over all entries, and
# neighbours are shifted arrays.

import json
import math
import sys

import torch

KEY, TOKENS, MASK = 64, 24, -1
TAU, BETA, BIAS = 1.0, [1.5, 1.0, 0.75, 0.5, 1.25, 0.875, 0.625, 0.375], [0.05, -1.25]

generator = torch.Generator().manual_seed(11)


def draw(shape, below):
    return torch.randint(0, below, shape, generator=generator)


def shifts(text, nothing):
    """The tokens at distance -1, -2, -3, -4, 1, 2, 3 of each place."""
    padded = torch.nn.functional.pad(text, (4, 4), value=nothing)
    return torch.stack([padded[4 + d : 4 + d + len(text)] for d in (-1, -2, -3, -4, 1, 2, 3)])


def flags(seen, true):
    equal = [s[:, None] == t[None] for s, t in zip(seen, true)]
    left = [equal[0]]
    for j in (1, 2, 3):
        left.append(left[-1] & equal[j])
    right = [equal[4]]
    for j in (5, 6):
        right.append(right[-1] & equal[j])
    return [*left, *right, equal[0] & equal[4]]


def attend(query, seen, entries, causal):
    cosine = query @ entries["key"].T
    score = cosine / TAU + BIAS[0] * entries["p"].clamp(min=1e-4).log() + BIAS[1] * entries["t"]
    for flag, beta in zip(flags(seen, entries["true"]), BETA):
        score = score + flag * beta
    mass = score.logsumexp(1)
    votes = torch.zeros(len(query), TOKENS, dtype=score.dtype)
    votes.index_add_(1, entries["token"], (score - mass[:, None]).exp())
    return {
        "log_mass": mass,
        "best_score": score.max(1).values,
        "best_cosine": cosine.max(1).values,
        "votes": votes,
    }


def main():
    lessons = []
    for i in range(20):
        length = 6 + int(draw((1,), 30))
        context = i % 5
        lessons.append(
            {
                "tokens": draw((length,), TOKENS),
                "context": context,
                "key": draw((length - context, KEY), 2) * 2 - 1,
                "p": torch.rand(length - context, generator=generator, dtype=torch.float64),
                "t": round(float(torch.rand(1, generator=generator)), 3),
            }
        )
    window = torch.cat((lessons[3]["tokens"][:9], draw((30,), TOKENS)))
    for place in (3, 6, 7, 12, 20, 21, 30, 38):
        window[place] = MASK
    positions = (window == MASK).nonzero()[:, 0]
    query = draw((len(positions), KEY), 2) * 2 - 1
    scale = 1 / math.sqrt(KEY)
    entries = {
        "key": torch.cat([x["key"] for x in lessons]).double() * scale,
        "p": torch.cat([x["p"] for x in lessons]),
        "t": torch.cat([torch.full((len(x["key"]),), x["t"], dtype=torch.float64) for x in lessons]),
        "token": torch.cat([x["tokens"][x["context"] :] for x in lessons]),
        "true": torch.cat([shifts(x["tokens"], -2)[:, x["context"] :] for x in lessons], 1),
    }
    out = {
        "temperature": TAU,
        "bonuses": BETA,
        "bias": BIAS,
        "lessons": [
            {
                "tokens": x["tokens"].tolist(),
                "context": x["context"],
                "signs": x["key"].tolist(),
                "p": x["p"].tolist(),
                "t": x["t"],
            }
            for x in lessons
        ],
        "window": window.tolist(),
        "positions": positions.tolist(),
        "signs": query.tolist(),
    }
    for causal in (False, True):
        seen = shifts(window, -3)[:, positions]
        seen = torch.where(seen == MASK, -3, seen)
        if causal:
            seen[4:] = -3
        found = attend(query.double() * scale, seen, entries, causal)
        out["causal" if causal else "masked"] = {k: v.tolist() for k, v in found.items()}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(out, file)


if __name__ == "__main__":
    main()
