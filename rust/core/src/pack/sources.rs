//! The turns that facts came from. A fact says again what its turns say: where all of them stand, it only takes up room.
use std::collections::HashMap;

/// Facts and their turns, by their places in what is offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// A fact with its turns, by rising fact. Left out: a fact one of whose turns is not offered, or is no more.
    turns: Vec<(usize, Vec<usize>)>,
    /// A turn with a fact that came from it, rising.
    facts: Vec<(usize, usize)>,
}

impl Sources {
    /// Of what is offered, in its order: each memory's id, and the ids of the turns it came from.
    pub fn new<'a>(offered: impl Iterator<Item = (&'a str, &'a [String])> + Clone) -> Self {
        let mut sources = Self::default();
        if offered.clone().all(|(_, cited)| cited.is_empty()) {
            return sources;
        }
        let places: HashMap<&str, usize> = offered.clone().enumerate().map(|(place, (id, _))| (id, place)).collect();
        for (fact, (_, cited)) in offered.enumerate().filter(|(_, (_, cited))| !cited.is_empty()) {
            let turns: Option<Vec<usize>> = cited.iter().map(|id| places.get(id.as_str()).copied()).collect();
            sources.add(fact, turns.unwrap_or_default());
        }
        sources.facts.sort_unstable();
        sources
    }

    fn add(&mut self, fact: usize, turns: Vec<usize>) {
        if !turns.is_empty() {
            self.facts.extend(turns.iter().map(|turn| (*turn, fact)));
            self.turns.push((fact, turns));
        }
    }

    /// The facts with their turns, by rising fact.
    pub(super) fn facts(&self) -> impl Iterator<Item = (usize, &[usize])> {
        self.turns.iter().map(|(fact, turns)| (*fact, turns.as_slice()))
    }

    /// Whether all the turns that the fact came from stand there.
    pub fn repeats(&self, fact: usize, stands: impl Fn(usize) -> bool) -> bool {
        let found = self.turns.binary_search_by_key(&fact, |(fact, _)| *fact).ok();
        found.and_then(|at| self.turns.get(at)).is_some_and(|(_, turns)| turns.iter().all(|turn| stands(*turn)))
    }

    /// The facts that stand there and, once the turn does too, only repeat.
    pub fn made_repeats(&self, turn: usize, stands: impl Fn(usize) -> bool) -> Vec<usize> {
        let from = self.facts.partition_point(|(other, _)| *other < turn);
        let of_turn = self.facts.iter().skip(from).take_while(|(other, _)| *other == turn).map(|(_, fact)| *fact);
        of_turn.filter(|fact| stands(*fact) && self.repeats(*fact, |other| other == turn || stands(other))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(offered: &[(&str, &[&str])]) -> Sources {
        let owned: Vec<(&str, Vec<String>)> =
            offered.iter().map(|(id, cited)| (*id, cited.iter().map(|id| (*id).to_owned()).collect())).collect();
        Sources::new(owned.iter().map(|(id, cited)| (*id, cited.as_slice())))
    }

    #[test]
    fn a_fact_repeats_when_all_its_turns_stand() {
        let got = sources(&[("f", &["a", "b"]), ("a", &[]), ("b", &[])]);
        assert!(got.repeats(0, |_| true) && !got.repeats(0, |place| place == 1) && !got.repeats(1, |_| true));
        assert_eq!(got.made_repeats(2, |place| place < 2), [0]);
        assert!(got.made_repeats(2, |place| place == 0).is_empty());
        assert!(got.made_repeats(2, |place| place == 1).is_empty());
    }

    #[test]
    fn a_fact_whose_turn_is_not_offered_never_repeats() {
        assert!(!sources(&[("f", &["a", "gone"]), ("a", &[])]).repeats(0, |_| true));
    }

    #[test]
    fn without_facts_there_is_nothing_to_look_up() {
        assert_eq!(sources(&[("a", &[]), ("b", &[])]), Sources::default());
    }
}
