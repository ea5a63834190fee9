//! How much each signal counts.
use super::mode::Mode;
use super::signals::SIGNALS;
use crate::error::{Error, Result};

/// A weight for each signal of the registry, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights(Vec<f32>);

impl Default for Weights {
    /// Beside the static model.
    fn default() -> Self {
        Self::beside(0.5)
    }
}

impl Weights {
    /// The defaults beside an embedder whose cosine has this weight.
    #[must_use]
    pub fn beside(dense_weight: f32) -> Self {
        Self(SIGNALS.iter().map(|signal| signal.default_weight(dense_weight)).collect())
    }

    /// Overrides the weight of one signal; 0 switches it off.
    pub fn set(&mut self, name: &str, weight: f32) -> Result<()> {
        if !weight.is_finite() || weight < 0.0 {
            let message = format!("the weight of signal {name:?} must be a finite number from 0, got {weight}");
            return Err(Error::invalid(message));
        }
        let index = SIGNALS.iter().position(|signal| signal.name() == name);
        let slot = index.and_then(|index| self.0.get_mut(index)).ok_or_else(|| unknown(name))?;
        *slot = weight;
        Ok(())
    }

    /// The weights as a read of this mode uses them: 0 for the signals it silences.
    #[must_use]
    pub fn in_mode(mut self, mode: Mode) -> Self {
        for (weight, signal) in self.0.iter_mut().zip(SIGNALS) {
            if signal.silent_in(mode) {
                *weight = 0.0;
            }
        }
        self
    }

    /// The weight of a signal; `None` for a name that is none.
    pub fn get(&self, name: &str) -> Option<f32> {
        SIGNALS.iter().zip(&self.0).find(|(signal, _)| signal.name() == name).map(|(_, weight)| *weight)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = f32> {
        self.0.iter().copied()
    }
}

fn unknown(name: &str) -> Error {
    let known: Vec<&str> = SIGNALS.iter().map(|signal| signal.name()).collect();
    Error::invalid(format!("unknown signal {name:?}; the signals are {}", known.join(", ")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_override_by_name_keeps_the_others() {
        let mut weights = Weights::default();
        weights.set("role", 0.0).unwrap();
        assert_eq!(weights.get("role"), Some(0.0));
        assert_eq!(weights.get("dense"), Some(0.5));
        assert_eq!(weights.get("nothing"), None);
    }

    #[test]
    fn an_unknown_name_is_told_the_known_ones() {
        let Err(Error::InvalidInput(message)) = Weights::default().set("roles", 1.0) else { unreachable!() };
        assert!(
            message.contains("\"roles\"")
                && message
                    .contains("dense, lexical, window, neighbours, sitting, sitting_words, role, named, date, cues"),
            "{message}"
        );
    }

    #[test]
    fn a_weight_is_finite_and_not_negative() {
        for weight in [-0.1, f32::NAN, f32::INFINITY] {
            assert!(matches!(Weights::default().set("dense", weight), Err(Error::InvalidInput(_))));
        }
    }

    #[test]
    fn the_cosine_counts_what_its_embedder_says_and_words_count_the_same_beside_each() {
        let of = |dense_weight, name| Weights::beside(dense_weight).get(name).unwrap();
        for dense_weight in [0.5, 0.7, 1.0] {
            assert!((of(dense_weight, "dense") - dense_weight).abs() < 1e-6);
            assert!(of(dense_weight, "lexical").abs() < 1e-6);
            assert!((of(dense_weight, "window") - 0.4).abs() < 1e-6);
        }
    }

    #[test]
    fn a_mode_silences_the_other_base_signal() {
        let of = |mode, name| Weights::default().in_mode(mode).get(name).unwrap();
        for by_words in ["window", "sitting_words"] {
            assert!(of(Mode::Dense, by_words) == 0.0 && of(Mode::Lexical, by_words) > 0.0);
        }
        let mut asked_for = Weights::default();
        asked_for.set("lexical", 0.2).unwrap();
        assert!(asked_for.in_mode(Mode::Dense).get("lexical") == Some(0.0));
        assert!(of(Mode::Dense, "dense") > 0.0);
        assert!(of(Mode::Lexical, "dense") == 0.0 && of(Mode::Lexical, "window") > 0.0);
        assert!(of(Mode::Hybrid, "dense") > 0.0 && of(Mode::Hybrid, "window") > 0.0);
    }
}
