"""Sampling: of how many acknowledgements in a hundred the time they took is published."""

from penstock.model.consumer_config import ConsumerConfig

CERTAIN = 100


def share_of(config: ConsumerConfig) -> int:
    """In percent; validation has seen to it that it is a number."""
    digits = config.sample_freq.removesuffix("%")
    return int(digits[:20]) if digits else 0


def is_sampled(config: ConsumerConfig, chance: int) -> bool:
    """`chance` is a random number below 100."""
    share = share_of(config)
    return share >= CERTAIN or (share > 0 and chance <= share)
