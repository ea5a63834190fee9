//! How far a fact's turns bear it out. A fact is worded as questions are and names whom it is about, so it is like a query that it does
//! not answer more often than a turn is; of the best turn that it came from this can be told.
//!
//! The score of a part interpolated with that of the text it belongs to, as for passages and their documents (Callan, Passage-level
//! evidence in document retrieval, SIGIR 1994).

/// What of the difference to its best turn a fact loses (docs/adr/0106-a-fact-stands-beside-its-turn.md).
const SHARE: f32 = 0.2;

/// Each fact that stands above all the turns it cites, with the best of them, the first of equals. `citations` are pairs of rows, fact
/// and turn, by rising fact. The best, so that a fact which cites a whole sitting loses nothing to what else was said there.
#[must_use]
pub fn witnesses(total: &[f32], citations: &[(u32, u32)]) -> Vec<(usize, usize)> {
    let of = |row: u32| total.get(row as usize).copied();
    let best = |of_fact: &[(u32, u32)]| {
        let turns = of_fact.iter().rev().filter(|(_, turn)| of(*turn).is_some());
        let &(fact, turn) = turns.max_by(|a, b| of(a.1).unwrap_or_default().total_cmp(&of(b.1).unwrap_or_default()))?;
        (of(fact)? > of(turn)?).then_some((fact as usize, turn as usize))
    };
    citations.chunk_by(|a, b| a.0 == b.0).filter_map(best).collect()
}

/// Moves each of these facts towards its turn. Of a weighted sum it may be done part by part.
pub fn lean(values: &mut [f32], witnesses: &[(usize, usize)]) {
    for (fact, turn) in witnesses {
        let of_turn = values.get(*turn).copied();
        if let (Some(of_turn), Some(own)) = (of_turn, values.get_mut(*fact)) {
            *own += SHARE * (of_turn - *own);
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leaned(total: &[f32], citations: &[(u32, u32)]) -> Vec<f32> {
        let mut values = total.to_vec();
        lean(&mut values, &witnesses(total, citations));
        values
    }

    #[test]
    fn a_fact_above_its_turn_loses_a_part_of_the_difference() {
        assert_eq!(leaned(&[0.0, 1.0], &[(1, 0)]), [0.0, 0.8]);
    }

    #[test]
    fn a_fact_below_its_turn_stays() {
        assert_eq!(leaned(&[1.0, 0.5], &[(1, 0)]), [1.0, 0.5]);
    }

    #[test]
    fn of_several_turns_the_best_counts_and_of_equals_the_first() {
        assert_eq!(witnesses(&[0.1, 0.4, 0.4, 0.5, 0.3], &[(3, 0), (3, 1), (3, 2), (4, 0), (4, 2)]), [(3, 1)]);
    }

    #[test]
    fn a_row_that_is_not_there_bears_nothing_out() {
        assert!(witnesses(&[0.1, 0.4], &[(1, 7), (9, 0)]).is_empty());
    }

    proptest! {
        #[test]
        fn a_fact_lies_between_itself_and_its_best_turn(
            total in prop::collection::vec(-1.0_f32..1.0, 1..20), pairs in prop::collection::btree_set((0_u32..20, 0_u32..20), 0..25)
        ) {
            // Even rows are facts, odd ones turns.
            let n = total.len() as u32;
            let pairs: Vec<(u32, u32)> = pairs.into_iter().filter(|(fact, turn)| fact % 2 == 0 && turn % 2 == 1 && *fact < n && *turn < n).collect();
            let got = leaned(&total, &pairs);
            for row in 0..n {
                let own = total[row as usize];
                let turns = pairs.iter().filter(|(fact, _)| *fact == row).map(|(_, turn)| total[*turn as usize]);
                let expected = turns.reduce(f32::max).filter(|best| *best < own).map_or(own, |best| own - 0.2 * (own - best));
                prop_assert!((got[row as usize] - expected).abs() < 1e-6);
            }
        }
    }
}
