"""DeepCAM's learning rate of every update, by a configuration's section "schedule".

Like the reference, computes each rate from the previous one. Warm-up ends one step short of the full rate, and later
rates follow from that.
"""

import math


def learning_rates(schedule, updates, reaches_top=False, shift=0):
    """Rates of updates 1, 2, ... Controls: `reaches_top` ends warm-up at the full rate; `shift` moves milestones."""
    base, warmup = schedule["learning_rate"], schedule.get("warmup_steps", 0)
    rates, rate = [], base
    for update in range(1, updates + 1):
        if update < warmup or (reaches_top and update == warmup):
            rate = base * warm(update / warmup, schedule.get("warmup_factor", 1.0))
        elif update > warmup:
            rate = after_warmup(schedule, rate, update - warmup, shift)
        rates.append(rate)
    return rates


def warm(share, factor):
    return share if factor == 1.0 else (factor - 1) * share + 1


def after_warmup(schedule, rate, number, shift):
    """The rate of update `number` after warm-up, from the previous update's `rate`."""
    if schedule["type"] == "multistep":
        passed = sum(milestone + 1 + shift == number for milestone in schedule.get("milestones", []))
        return rate * schedule.get("decay_rate", 0.1) ** passed
    least, half = schedule.get("eta_min", 0.0), schedule["t_max"]
    if (number - 1 - half) % (2 * half) == 0:  # just after the minimum, where a ratio would divide by 0
        return rate + (schedule["learning_rate"] - least) * (1 - math.cos(math.pi / half)) / 2
    height, before = (1 + math.cos(math.pi * at / half) for at in (number, number - 1))
    return least + (rate - least) * height / before
