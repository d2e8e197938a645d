# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The noise of gradients and what signal stands against it, for round_arms.py."""
import math


def epsilon_of(sigma, rate, rounds, delta=1e-5):
    """Epsilon of the Poisson-sampled Gaussian at integer Renyi orders, as privacy/dp converts it."""
    best = math.inf
    for order in [*range(2, 65), 80, 96, 128, 192, 256, 512]:
        if rate == 1:
            rdp = order / (2 * sigma ** 2)
        else:
            terms = [math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
                     + k * math.log(rate) + (order - k) * math.log1p(-rate) + (k * k - k) / (2 * sigma ** 2)
                     for k in range(order + 1)]
            top = max(terms)
            rdp = (top + math.log(sum(math.exp(t - top) for t in terms))) / (order - 1)
        cost = rounds * rdp + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        best = min(best, max(0.0, cost))
    return best


def sigma_of(epsilon, rate, rounds):
    low, high = 0.2, 200.0
    while high > low * 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if epsilon_of(middle, rate, rounds) <= epsilon else (middle, high)
    return high


def signal_of(units):
    """By arm, the norm of the mean clipped unit, without the part of it that a sample has by chance.

    units: arms x units of the sample x modules x rank x rank.
    """
    count = max(2, units.shape[1])
    square = units.sum(1).flatten(1).pow(2).sum(1) - units.flatten(1).pow(2).sum(1)
    return (square / (count * (count - 1))).clamp(min=0).sqrt().tolist()
