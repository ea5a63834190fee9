//! The signals: each a pure function of the scene in a file of its own. A new signal is one file and one line here.
pub mod cues;
pub mod date;
pub mod dense;
mod lexical;
mod named;
pub mod neighbours;
mod role;
mod sitting;
mod sitting_words;
pub mod window;

use super::mode::Mode;
use super::scene::Scene;

/// When a signal is applied. What is read off the thread sees the base of the neighbours, not what is added later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Base,
    Thread,
    Added,
}

/// One term of relevance.
pub trait Signal: Sync + std::fmt::Debug {
    /// Its name in `signals={...}` and in `_vx_scoring`.
    fn name(&self) -> &'static str;

    fn stage(&self) -> Stage;

    /// Beside an embedder whose cosine has this weight: the stronger it is, the less words need to say.
    fn default_weight(&self, dense_weight: f32) -> f32;

    /// Whether a read of this mode leaves it out.
    fn silent_in(&self, _mode: Mode) -> bool {
        false
    }

    /// Whether it tells turns apart by where they stand or who said them, so that a fact has it from the turns it came from.
    fn is_of_the_turn(&self) -> bool {
        false
    }

    /// Its value for each memory of S, before the weight. `sum` is what the signals before it made.
    fn contribution(&self, scene: &Scene, sum: &[f32]) -> Vec<f32>;
}

/// Every signal, in the order in which they are added.
pub static SIGNALS: &[&dyn Signal] = &[
    &dense::Dense,
    &lexical::Lexical,
    &window::Window,
    &neighbours::Neighbours,
    &sitting::Sitting,
    &sitting_words::SittingWords,
    &role::Role,
    &named::Named,
    &date::Date,
    &cues::Cues,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn signals_follow_their_stages() {
        assert!(SIGNALS.iter().map(|signal| signal.stage()).is_sorted());
    }

    #[test]
    fn names_are_unique() {
        let names: HashSet<&str> = SIGNALS.iter().map(|signal| signal.name()).collect();
        assert_eq!(names.len(), SIGNALS.len());
    }
}
