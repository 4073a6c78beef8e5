"""Medians with intervals that assume nothing about the distribution."""

import math


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
