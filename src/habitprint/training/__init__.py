"""Training: the attack practised on the attacker's own data, and the probability that a pair is right."""

from habitprint.training.trained import (
    FEWEST_PEOPLE,
    Evidence,
    TrainedWeight,
    Training,
    thinned,
    train,
    train_weight,
    with_strangers,
)

__all__ = [
    "FEWEST_PEOPLE",
    "Evidence",
    "TrainedWeight",
    "Training",
    "thinned",
    "train",
    "train_weight",
    "with_strangers",
]
