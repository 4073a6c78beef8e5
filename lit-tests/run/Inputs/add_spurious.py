"""Adds a spurious wake-up to a schedule: t1's first wait ends at once, without a waker, and begins again."""

import re
import sys

source, target = sys.argv[1:]
lines = open(source, encoding="utf-8").read().split("\n")
begin = next(n for n, line in enumerate(lines) if re.match(r"t1 pthread_cond_wait begin", line))
end = next(line for line in lines[begin:] if re.match(r"t1 pthread_cond_wait end", line))
lines[begin + 1 : begin + 1] = [re.sub(r" waker=\S+", "", end), lines[begin]]
lines = [re.sub(r"^events (\d+)$", lambda found: f"events {int(found.group(1)) + 2}", line) for line in lines]
open(target, "w", encoding="utf-8").write("\n".join(lines))
