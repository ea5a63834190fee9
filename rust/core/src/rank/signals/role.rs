//! People ask for what they said themselves, unless they ask for what they were told.
use super::{Signal, Stage};
use crate::rank::scene::Scene;

#[derive(Debug)]
pub struct Role;

impl Signal for Role {
    fn name(&self) -> &'static str {
        "role"
    }

    fn stage(&self) -> Stage {
        Stage::Added
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        0.4
    }

    /// 1 for the user's own words; 0 for all where the query asks for what the assistant said.
    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        let counts = !scene.query.names_earlier_talk;
        scene.user_words.iter().map(|own| if *own && counts { 1.0 } else { 0.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::language::ENGLISH;
    use crate::rank::sample::Sample;

    fn parts(text: &str, language: Option<&'static crate::rank::language::Language>) -> Vec<f32> {
        let user_words = vec![true, false];
        let sample = Sample { text: text.to_owned(), language, user_words, ..Sample::of_turns(&[0.0, 0.0]) };
        Role.contribution(&sample.view().scene(), &[])
    }

    #[test]
    fn the_users_own_words_count() {
        assert_eq!(parts("which phone do I have", Some(&ENGLISH)), [1.0, 0.0]);
    }

    #[test]
    fn it_is_off_when_the_query_asks_for_what_the_assistant_said() {
        assert_eq!(parts("what discount did you offer me?", Some(&ENGLISH)), [0.0, 0.0]);
    }

    #[test]
    fn it_never_switches_off_in_a_language_without_words() {
        assert_eq!(parts("what discount did you offer me?", None), [1.0, 0.0]);
    }
}
