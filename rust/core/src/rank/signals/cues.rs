//! What an answer must have in it: a time for "when", a name for "who", and never only a question.
use super::{Signal, Stage};
use crate::rank::language::asks::Asks;
use crate::rank::scene::Scene;

pub const TIME: f32 = 0.15;
pub const NAME: f32 = 0.2;
pub const ONLY_ASKS: f32 = -0.1;
/// The most tokens of a memory that is held to be only a question.
pub const SHORT: u32 = 40;

#[derive(Debug)]
pub struct Cues;

impl Signal for Cues {
    fn name(&self) -> &'static str {
        "cues"
    }

    fn stage(&self) -> Stage {
        Stage::Added
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        1.0
    }

    fn is_of_the_turn(&self) -> bool {
        true
    }

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        let (holds, worth) = match scene.query.asks {
            Some(Asks::Time) => (scene.names_time, TIME),
            Some(Asks::Name) => (scene.names_proper, NAME),
            _ => (&[][..], 0.0),
        };
        let asks =
            scene.question_share.iter().zip(scene.tokens).map(|(share, tokens)| *share >= 1.0 && *tokens <= SHORT);
        asks.enumerate()
            .map(|(row, only_asks)| {
                let held = if holds.get(row).copied().unwrap_or(false) { worth } else { 0.0 };
                held + if only_asks { ONLY_ASKS } else { 0.0 }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::language::ENGLISH;
    use crate::rank::sample::{Sample, close};

    /// A time, a name, a short question, a long one, nothing.
    fn parts(text: &str) -> Vec<f32> {
        let sample = Sample {
            text: text.to_owned(),
            language: Some(&ENGLISH),
            names_time: vec![true, false, false, false, false],
            names_proper: vec![false, true, false, false, false],
            question_share: vec![0.0, 0.9, 1.0, 1.0, 0.0],
            tokens: vec![10, 10, 40, 41, 10],
            ..Sample::of_turns(&[0.0; 5])
        };
        Cues.contribution(&sample.view().scene(), &[])
    }

    #[test]
    fn when_asks_for_a_time_and_who_for_a_name() {
        assert!(close(&parts("when was it"), &[0.15, 0.0, -0.1, 0.0, 0.0]));
        assert!(close(&parts("who was it"), &[0.0, 0.2, -0.1, 0.0, 0.0]));
        assert!(close(&parts("what was it"), &[0.0, 0.0, -0.1, 0.0, 0.0]));
    }
}
