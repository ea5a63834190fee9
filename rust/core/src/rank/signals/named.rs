//! A question about somebody is answered by what they said: 1 for the turns of the one speaker whom the query names.
use super::{Signal, Stage};
use crate::rank::scene::Scene;

#[derive(Debug)]
pub struct Named;

impl Signal for Named {
    fn name(&self) -> &'static str {
        "named"
    }

    fn stage(&self) -> Stage {
        Stage::Added
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        0.3
    }

    fn is_of_the_turn(&self) -> bool {
        true
    }

    /// 0 for all where the query names nobody of S, or more than one.
    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        let mut named = (0_u32..).zip(scene.named).filter(|(_, named)| **named).map(|(speaker, _)| speaker);
        let (Some(one), None) = (named.next(), named.next()) else { return vec![0.0; scene.len()] };
        scene.speaker.iter().map(|speaker| if *speaker == one { 1.0 } else { 0.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::sample::Sample;
    use crate::rank::scene::NO_SPEAKER;

    fn parts(named: &[bool]) -> Vec<f32> {
        let sample = Sample { speaker: vec![0, 1, NO_SPEAKER], named: named.to_vec(), ..Sample::of_turns(&[0.0; 3]) };
        Named.contribution(&sample.view().scene(), &[])
    }

    #[test]
    fn the_one_who_is_named_counts() {
        assert_eq!(parts(&[false, true]), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn two_names_or_none_say_nothing() {
        assert_eq!(parts(&[true, true]), [0.0; 3]);
        assert_eq!(parts(&[false, false]), [0.0; 3]);
        assert_eq!(parts(&[]), [0.0; 3]);
    }
}
