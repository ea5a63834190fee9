"""What a calibration says: `Calibration` and `Distribution`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retentive._requests import Measured

FEWEST_UNRELATED = 200  # pairs: four of them are over the floor
FEWEST_RELATED = 20  # pairs
FEWEST_QUESTIONS = 50  # one of them is under the floor
LEAST_AUC = 0.6
SAME = 0.99  # a cosine that leaves no room above it


@dataclass(frozen=True, slots=True)
class Distribution:
    """A sample of cosines.

    Attributes:
        count: how many.
        quantiles: pairs of a share and the cosine that it stays at or below: 0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9,
            0.98, 1. Empty for an empty sample.
        histogram: how many fall into each of 40 bins of 0.05, from -1 to 1.
    """

    count: int = 0
    quantiles: tuple[tuple[float, float], ...] = ()
    histogram: tuple[int, ...] = (0,) * 40


@dataclass(frozen=True, slots=True, repr=False)
class Calibration:
    """How near related and unrelated texts of a collection are, by its own embedder.

    Attributes:
        model: the name of the embedder that made the collection's vectors.
        noise_floor: the cosine that 98 % of unrelated pairs stay below: what `max_distance="auto"` means; None where
            not measured.
        cutoff: the similarity that tells related from unrelated pairs best (Youden's J): a `min_relevance` to start
            from; None where not measured, or where nothing tells them apart.
        refusal_floor: what a question must find in 500 turns to be answered: what `min_relevance="auto"` means;
            None where not measured, and then the embedder's own stays in force.
        auc: the chance that a related pair is nearer than an unrelated one; None without both.
        related: the cosines of related pairs.
        unrelated: the cosines of unrelated pairs.
        questions: how many questions the refusal floor was measured on.
        enough: whether there was enough for a noise floor. If not, nothing was stored.
        reason: what was not measured, and why; None where all was.
    """

    model: str
    noise_floor: float | None
    cutoff: float | None
    refusal_floor: float | None
    auc: float | None
    related: Distribution
    unrelated: Distribution
    questions: int
    enough: bool
    reason: str | None

    @property
    def max_distance(self) -> float | None:
        """`1 - cutoff`, for `search(max_distance=)`; None where there is no cut-off."""
        return None if self.cutoff is None else 1.0 - self.cutoff

    def __repr__(self) -> str:
        floors = f"noise floor {_told(self.noise_floor)}, cut-off {_told(self.cutoff)}"
        floors += f", refusal floor {_told(self.refusal_floor)}, AUC {_told(self.auc)}"
        sizes = f"{self.related.count:,} related and {self.unrelated.count:,} unrelated pairs"
        sizes += f", {self.questions:,} questions"
        reason = "" if self.reason is None else f"; {'' if self.enough else 'nothing stored: '}{self.reason}"
        return f"<Calibration of {self.model!r}: {floors}; {sizes}{reason}>"


def judged(model: str, measured: Measured, questions: int) -> Calibration:
    """Return what the samples say, without what there are too few of to say."""
    related, unrelated = distribution(measured["related"]), distribution(measured["unrelated"])
    noise_floor, auc = measured["noise_floor"], measured["auc"]
    apart = auc is not None and auc >= LEAST_AUC
    noisy = unrelated.count >= FEWEST_UNRELATED and noise_floor is not None and noise_floor < SAME
    reasons = list(_reasons(related.count, unrelated.count, questions, noise_floor, auc))
    return Calibration(
        model=model,
        noise_floor=noise_floor if noisy else None,
        cutoff=measured["cutoff"] if noisy and related.count >= FEWEST_RELATED and apart else None,
        refusal_floor=measured["refusal_floor"] if noisy and questions >= FEWEST_QUESTIONS else None,
        auc=auc,
        related=related,
        unrelated=unrelated,
        questions=questions,
        enough=noisy,
        reason="; ".join(reasons) or None,
    )


def restored(values: Mapping[str, Any]) -> Calibration:
    """Return a calibration from its fields, as JSON gives them back."""
    return Calibration(**{**values, **{name: distribution(values[name]) for name in ("related", "unrelated")}})


def distribution(values: Mapping[str, Any]) -> Distribution:
    """Return a distribution from its fields, as the core or JSON gives them."""
    quantiles = tuple((float(share), float(cosine)) for share, cosine in values["quantiles"])
    return Distribution(int(values["count"]), quantiles, tuple(values["histogram"]))


def unmeasured(model: str, reason: str) -> Calibration:
    """Return the calibration of what cannot be measured at all."""
    return Calibration(model, None, None, None, None, Distribution(), Distribution(), 0, enough=False, reason=reason)


def _reasons(
    related: int, unrelated: int, questions: int, noise_floor: float | None, auc: float | None
) -> Iterator[str]:
    if unrelated < FEWEST_UNRELATED:
        yield f"{unrelated} unrelated pairs, a noise floor needs {FEWEST_UNRELATED} (21 different texts have as many)"
    elif noise_floor is not None and noise_floor >= SAME:
        yield f"unrelated pairs are as near as equal texts ({noise_floor:.3f}), nothing can be told apart"
    if related < FEWEST_RELATED:
        yield f"{related} related pairs, a cut-off needs {FEWEST_RELATED}"
    elif auc is not None and auc < LEAST_AUC:
        yield f"related pairs are hardly nearer than unrelated ones (AUC {auc:.2f}), no cut-off tells them apart"
    if questions < FEWEST_QUESTIONS:
        yield (
            f"{questions} questions to ten memories or more, a refusal floor needs {FEWEST_QUESTIONS} "
            "(documents are never recalled)"
        )


def _told(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
