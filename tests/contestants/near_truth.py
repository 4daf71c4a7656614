"""Contestants that know the truth and spoil it a little, as a good model does."""

from __future__ import annotations

from wbgpu.contestants import Oracle


class Tempered(Oracle):
    """Over- or underconfident: truth ** power, normalised."""

    def __init__(self, answer_key, power):
        super().__init__(answer_key)
        self.power = power

    def predict(self, state, action):
        rows = [truth**self.power for truth in super().predict(state, action)]
        return tuple(row / row.sum(axis=1, keepdims=True) for row in rows)


class Mixed(Oracle):
    """(1 - epsilon) truth + epsilon uniform."""

    def __init__(self, answer_key, epsilon):
        super().__init__(answer_key)
        self.epsilon = epsilon

    def predict(self, state, action):
        return tuple(
            (1 - self.epsilon) * truth + self.epsilon / truth.shape[1]
            for truth in super().predict(state, action)
        )


class Reckless(Oracle):
    """Certain of the likeliest outcome, so that it sometimes loses infinitely."""

    def predict(self, state, action):
        forecast = []
        for truth in super().predict(state, action):
            is_likeliest = truth == truth.max(axis=1, keepdims=True)
            forecast.append(is_likeliest / is_likeliest.sum(axis=1, keepdims=True))
        return tuple(forecast)
