//! In which order memories are offered to a budget alone: by score, less what a turn costs more than a fact that says it.
use std::collections::BTreeMap;

use super::sources::Sources;

/// What a turn loses of its score for each token that it costs more than its fact (docs/adr/0107-a-turn-pays-for-what-it-costs-more.md).
const PRICE: f64 = 0.005;

/// What the order depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offered {
    pub score: f64,
    /// The built-in estimate.
    pub tokens: u32,
}

/// The places in `ranked` (best first), in the order in which to offer them. The first stays the first; ties keep their order.
/// `sources` know `ranked` behind so many other memories.
#[must_use]
pub fn order(ranked: &[Offered], behind: usize, sources: &Sources) -> Vec<usize> {
    let mut dearer: BTreeMap<usize, f64> = BTreeMap::new();
    let of = |place: usize| place.checked_sub(behind).and_then(|place| Some((place, ranked.get(place)?)));
    for (fact, turns) in sources.facts() {
        let Some((_, fact)) = of(fact) else { continue };
        for (turn, offered) in turns.iter().filter_map(|turn| of(*turn)) {
            let more = f64::from(offered.tokens.saturating_sub(fact.tokens)) / turns.len() as f64;
            let most = dearer.entry(turn).or_default();
            *most = most.max(more);
        }
    }
    let worth = |place: &usize| {
        let price = PRICE * dearer.get(place).copied().unwrap_or_default();
        ranked.get(*place).map_or(f64::NEG_INFINITY, |offered| offered.score - price)
    };
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    if let Some(rest) = order.get_mut(1..) {
        rest.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    }
    order
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn offered(all: &[(f64, u32)]) -> Vec<Offered> {
        all.iter().map(|(score, tokens)| Offered { score: *score, tokens: *tokens }).collect()
    }

    /// Places are ids; pairs of a fact and a turn that it cites.
    fn sources(places: usize, cited: &[(usize, usize)]) -> Sources {
        let turns_of =
            |place: usize| cited.iter().filter(|(fact, _)| *fact == place).map(|(_, turn)| turn.to_string()).collect();
        let all: Vec<(String, Vec<String>)> = (0..places).map(|place| (place.to_string(), turns_of(place))).collect();
        Sources::new(all.iter().map(|(id, cited)| (id.as_str(), cited.as_slice())))
    }

    #[test]
    fn a_turn_pays_for_what_it_costs_more_than_its_fact() {
        let ranked = offered(&[(1.0, 10), (0.9, 60), (0.8, 60), (0.6, 20)]);
        // 40 tokens more: 0.2 off.
        assert_eq!(order(&ranked, 0, &sources(4, &[(3, 1)])), [0, 2, 1, 3]);
        assert_eq!(order(&ranked, 0, &Sources::default()), [0, 1, 2, 3]);
        assert_eq!(order(&[], 0, &Sources::default()), [0; 0]);
    }

    #[test]
    fn a_fact_of_two_turns_is_half_as_much_to_each() {
        let ranked = offered(&[(1.0, 10), (0.9, 60), (0.8, 60), (0.7, 10)]);
        // 0.125 off: between the two above and below.
        assert_eq!(order(&ranked, 0, &sources(4, &[(3, 1), (3, 2)])), [0, 1, 3, 2]);
    }

    #[test]
    fn equals_keep_their_order() {
        let ranked = offered(&[(1.0, 10), (0.5, 30), (0.5, 10), (0.5, 20)]);
        assert_eq!(order(&ranked, 0, &Sources::default()), [0, 1, 2, 3]);
    }

    #[test]
    fn the_best_stays_the_first() {
        let ranked = offered(&[(1.0, 400), (0.9, 20)]);
        assert_eq!(order(&ranked, 0, &sources(2, &[(1, 0)])), [0, 1]);
    }

    #[test]
    fn a_recent_turn_has_no_place() {
        let ranked = offered(&[(1.0, 10), (0.9, 60), (0.8, 10)]);
        assert_eq!(order(&ranked, 1, &sources(4, &[(3, 0)])), [0, 1, 2]);
        assert_eq!(order(&ranked, 1, &sources(4, &[(3, 2)])), [0, 2, 1]);
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_its_formula(
            all in prop::collection::vec((0.0_f64..1.5, 0_u32..200), 0..20), behind in 0_usize..3,
            pairs in prop::collection::btree_set((0_usize..23, 0_usize..23), 0..25)
        ) {
            let mut ranked = offered(&all);
            ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
            let n = ranked.len();
            // Even places are turns, odd ones facts, and before the ranked are none.
            let is_fact = |place: usize| place >= behind && place % 2 == 1;
            let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(|(fact, turn)| is_fact(*fact) && !is_fact(*turn)).collect();
            let got = order(&ranked, behind, &sources(behind + n, &pairs));
            let turns = |fact: usize| pairs.iter().filter(move |(other, _)| *other == fact).map(|(_, turn)| *turn);
            let worth = |rank: usize| {
                let facts = pairs.iter().filter(|(fact, turn)| *turn == behind + rank && *fact < behind + n);
                let facts = facts.map(|(fact, _)| *fact).filter(|fact| turns(*fact).all(|turn| turn < behind + n));
                let tokens = |place: usize| f64::from(ranked[place].tokens);
                let more = facts.map(|fact| (tokens(rank) - tokens(fact - behind)) / turns(fact).count() as f64);
                ranked[rank].score - 0.005 * more.fold(0.0, f64::max)
            };
            let mut sorted = got.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..n).collect::<Vec<_>>());
            prop_assert!(got.first().is_none_or(|first| *first == 0));
            for pair in got.windows(2).skip(1) {
                prop_assert!(worth(pair[0]) > worth(pair[1]) - 1e-12);
            }
        }
    }
}
