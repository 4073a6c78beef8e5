"""Medians with intervals that assume nothing about the distribution."""

import math
import random

# Of the bootstrap: enough for three digits.
SAMPLES = 1000


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(values):
    """The 95% interval of the median, by order statistics: how many of n values fall below the median is
    binomial(n, 1/2), so the k-th smallest and the k-th largest enclose it."""
    n, below, k = len(values), 0.0, 0
    while k < n // 2 and (below := below + math.comb(n, k) / 2**n) <= 0.025:
        k += 1
    ordered = sorted(values)
    return ordered[max(k - 1, 0)], ordered[n - max(k, 1)]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def geomean_of_medians(lists):
    """The geometric mean of the lists' medians, and its 95% interval: what it is in samples that are drawn from each list as often as
    that is long (the bootstrap). Always the same samples, so that the same measurements give the same figures."""
    drawn = random.Random(0)
    means = sorted(geomean([median(drawn.choices(values, k=len(values))) for values in lists]) for _ in range(SAMPLES))
    return geomean([median(values) for values in lists]), means[round(0.025 * SAMPLES)], means[round(0.975 * SAMPLES) - 1]
