"""DeepCAM's learning rate of every update, by a configuration's section "schedule".

Hides that the reference finds a rate from the one before: what warm-up ends with, a step short of the full rate, stays.
"""

import math


def learning_rates(schedule, updates, reaches_top=False, shift=0):
    """Of the updates 1, 2, ... For controls: `reaches_top`: warm-up ends at the full rate. `shift`: of milestones."""
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
    """The rate of update `number` since warm-up, from that of the update before."""
    if schedule["type"] == "multistep":
        passed = sum(milestone + 1 + shift == number for milestone in schedule.get("milestones", []))
        return rate * schedule.get("decay_rate", 0.1) ** passed
    least, half = schedule.get("eta_min", 0.0), schedule["t_max"]
    if (number - 1 - half) % (2 * half) == 0:  # just after the bottom, where a ratio has nothing to grow from
        return rate + (schedule["learning_rate"] - least) * (1 - math.cos(math.pi / half)) / 2
    height, before = (1 + math.cos(math.pi * at / half) for at in (number, number - 1))
    return least + (rate - least) * height / before
