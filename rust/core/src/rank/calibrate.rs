//! What two samples of cosines, of related and of unrelated pairs, say about an embedder on these texts.

/// The share of unrelated pairs that stays below the noise floor.
const NOISE_SHARE: f64 = 0.98;
/// The share of questions with an answer that may be refused.
const REFUSED_SHARE: f64 = 0.02;
/// The same of questions made of a text's own words and asked of the others: they find less than real ones do.
const REFUSED_SHARE_MADE: f64 = 0.1;
/// The most that a floor from such questions is over the noise floor, as far as those from real ones are. Texts that all say
/// nearly the same find each other better than any question finds them.
const MOST_OVER_NOISE: f64 = 0.1;
/// What a distribution is told by.
const SHARES: [f64; 9] = [0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0];
/// Bins of 0.05 from -1 to 1.
pub const BINS: usize = 40;

/// A sample of cosines in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    pub count: usize,
    /// Share and the value that it stays at or below; empty for an empty sample.
    pub quantiles: Vec<(f64, f64)>,
    /// How many fall into each bin, its lower end included.
    pub histogram: [usize; BINS],
}

/// What the samples give; `None` where one is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub noise_floor: Option<f64>,
    /// The similarity that tells related from unrelated best.
    pub cutoff: Option<f64>,
    pub refusal_floor: Option<f64>,
    /// Chance that a related pair is nearer than an unrelated one.
    pub auc: Option<f64>,
    pub related: Distribution,
    pub unrelated: Distribution,
}

/// `evidence`: that of questions, as among 500 turns. `made`: the questions were made of the texts themselves.
#[must_use]
pub fn measure(mut related: Vec<f64>, mut unrelated: Vec<f64>, mut evidence: Vec<f64>, made: bool) -> Measured {
    for sample in [&mut related, &mut unrelated, &mut evidence] {
        sample.retain(|value| value.is_finite());
        sample.sort_by(f64::total_cmp);
    }
    let noise_floor = quantile(&unrelated, NOISE_SHARE);
    Measured {
        noise_floor,
        cutoff: cutoff(&related, &unrelated),
        refusal_floor: if made { made_floor(&evidence, noise_floor) } else { quantile(&evidence, REFUSED_SHARE) },
        auc: auc(&related, &unrelated),
        related: distribution(&related),
        unrelated: distribution(&unrelated),
    }
}

fn made_floor(evidence: &[f64], noise_floor: Option<f64>) -> Option<f64> {
    Some(quantile(evidence, REFUSED_SHARE_MADE)?.min(noise_floor? + MOST_OVER_NOISE))
}

fn distribution(sorted: &[f64]) -> Distribution {
    let mut histogram = [0; BINS];
    for value in sorted {
        let bin = ((value + 1.0) / 2.0 * BINS as f64).floor().clamp(0.0, (BINS - 1) as f64);
        if let Some(count) = histogram.get_mut(bin as usize) {
            *count += 1;
        }
    }
    let quantiles = SHARES.iter().filter_map(|share| Some((*share, quantile(sorted, *share)?))).collect();
    Distribution { count: sorted.len(), quantiles, histogram }
}

/// Linear between the two nearest (Hyndman and Fan's type 7, numpy's default).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let below = *sorted.get(place.floor() as usize)?;
    let above = *sorted.get(place.ceil() as usize)?;
    Some(below + (above - below) * place.fract())
}

/// Where the share of related pairs at or above is furthest over that of unrelated ones (Youden 1950): half-way between the least
/// value that is kept and the next one below. Of several the highest.
fn cutoff(related: &[f64], unrelated: &[f64]) -> Option<f64> {
    let share_from = |sorted: &[f64], least: f64| {
        (sorted.len() - sorted.partition_point(|value| *value < least)) as f64 / sorted.len() as f64
    };
    let mut best: Option<(f64, f64)> = None;
    let usable = !related.is_empty() && !unrelated.is_empty();
    for least in related.iter().rev().filter(|_| usable) {
        let distance = share_from(related, *least) - share_from(unrelated, *least);
        if best.is_none_or(|(most, _)| distance > most) {
            best = Some((distance, *least));
        }
    }
    let (_, least) = best?;
    let below = |sorted: &[f64]| {
        sorted.partition_point(|value| *value < least).checked_sub(1).and_then(|at| sorted.get(at).copied())
    };
    let next = below(related).into_iter().chain(below(unrelated)).reduce(f64::max);
    Some(next.map_or(least, |next| f64::midpoint(next, least)))
}

/// Mann and Whitney's U over the number of pairs; equal values count half.
fn auc(related: &[f64], unrelated: &[f64]) -> Option<f64> {
    if related.is_empty() || unrelated.is_empty() {
        return None;
    }
    let wins = related.iter().map(|value| {
        let below = unrelated.partition_point(|other| other < value);
        let up_to = unrelated.partition_point(|other| other <= value);
        f64::midpoint(below as f64, up_to as f64)
    });
    Some(wins.sum::<f64>() / (related.len() * unrelated.len()) as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosines() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-20_i32..=20).prop_map(|x| f64::from(x) / 20.0), 1..40)
    }

    #[test]
    fn samples_apart_are_told_apart_half_way() {
        let measured = measure(vec![0.8, 0.6], vec![0.1, 0.2], vec![], false);
        assert!((measured.cutoff.unwrap_or_default() - 0.4).abs() < 1e-12);
        assert_eq!(measured.auc, Some(1.0));
        assert_eq!(measured.refusal_floor, None);
    }

    #[test]
    fn without_a_sample_nothing_is_said() {
        let measured = measure(vec![], vec![0.1], vec![f64::NEG_INFINITY], false);
        assert_eq!((measured.cutoff, measured.auc, measured.refusal_floor), (None, None, None));
        assert_eq!(measured.noise_floor, Some(0.1));
        assert_eq!(measured.related, Distribution { count: 0, quantiles: vec![], histogram: [0; BINS] });
    }

    #[test]
    fn questions_made_of_the_texts_refuse_more_of_their_own_but_not_far_over_the_noise() {
        let evidence: Vec<f64> = (0..=100).map(f64::from).map(|x| x / 100.0).collect();
        let floor = |noise: f64, made: bool| measure(vec![], vec![noise], evidence.clone(), made).refusal_floor;
        assert_eq!(floor(0.5, false), Some(0.02));
        assert_eq!(floor(0.5, true), Some(0.1));
        assert_eq!(floor(-0.1, true), Some(0.0));
        assert_eq!(measure(vec![], vec![], evidence.clone(), true).refusal_floor, None);
    }

    #[test]
    fn the_ends_of_the_scale_have_a_bin() {
        let measured = measure(vec![-1.0, 1.0, 1.000_000_1], vec![], vec![], false);
        assert_eq!(measured.related.histogram.iter().sum::<usize>(), 3);
        assert_eq!(measured.related.histogram.first(), Some(&1));
        assert_eq!(measured.related.histogram.last(), Some(&2));
    }

    proptest! {
        #[test]
        fn the_auc_is_the_share_of_pairs_won(related in cosines(), unrelated in cosines()) {
            let won: f64 = related.iter().flat_map(|a| unrelated.iter().map(move |b| {
                if a > b { 1.0 } else if a < b { 0.0 } else { 0.5 }
            })).sum();
            let expected = won / (related.len() * unrelated.len()) as f64;
            let got = measure(related, unrelated, vec![], false).auc.unwrap_or_default();
            prop_assert!((got - expected).abs() < 1e-9);
        }

        #[test]
        fn no_cut_tells_them_apart_better(related in cosines(), unrelated in cosines()) {
            let gain = |cut: f64| {
                let share = |sample: &[f64]| sample.iter().filter(|x| **x >= cut).count() as f64 / sample.len() as f64;
                share(&related) - share(&unrelated)
            };
            let cutoff = measure(related.clone(), unrelated.clone(), vec![], false).cutoff.unwrap_or_default();
            let best = (-42..=42).map(|x| gain(f64::from(x) / 40.0)).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((gain(cutoff) - best).abs() < 1e-9 || (best <= 0.0 && gain(cutoff) <= 0.0));
        }

        #[test]
        fn a_quantile_lies_where_its_share_says(sample in cosines()) {
            let measured = measure(vec![], sample.clone(), vec![], false);
            for (share, value) in measured.unrelated.quantiles {
                let below = sample.iter().filter(|x| **x < value - 1e-12).count() as f64;
                let up_to = sample.iter().filter(|x| **x <= value + 1e-12).count() as f64;
                let place = share * (sample.len() - 1) as f64;
                prop_assert!(below <= place.ceil() && up_to >= place.floor(), "{share} {value}");
            }
        }
    }
}
