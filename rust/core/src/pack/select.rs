//! Which of the ranked results to return.
use super::DropReason;
use super::sources::Sources;

/// The results taken, by rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub kept: Vec<usize>,
    pub dropped: Vec<(usize, DropReason)>,
    /// Sum of the counts of what was kept; 0 without a budget, where nothing is counted.
    pub tokens: u64,
    /// Something was cut to fit, or the top result alone is over the budget.
    pub truncated: bool,
    /// How many the budget cut.
    pub cut_count: usize,
}

/// Takes the ranks in the order given, each once, until `limit` are taken, skipping what does not fit the rest of the budget. The top
/// result, rank 0, always ships: it is to be the first. A fact makes room for the turns it came from, once all of them are taken. `count` is asked for a rank at
/// most once, and not for what is over the limit.
pub fn select<E>(
    order: &[usize],
    limit: Option<usize>,
    budget: Option<u64>,
    sources: &Sources,
    mut count: impl FnMut(usize) -> Result<u64, E>,
) -> Result<Selection, E> {
    let mut taken = Taken { tokens: vec![None; order.len()], ..Taken::default() };
    let mut selection = Selection::default();
    for &rank in order {
        if limit.is_some_and(|limit| taken.len >= limit) {
            selection.dropped.push((rank, DropReason::OverLimit));
            continue;
        }
        if sources.repeats(rank, |turn| taken.has(turn)) {
            selection.dropped.push((rank, DropReason::SaidByItsTurns));
            continue;
        }
        let repeated = sources.made_repeats(rank, |other| taken.has(other));
        let own = if budget.is_some() { count(rank)? } else { 0 };
        let sum = (taken.sum - taken.sum_of(&repeated)).saturating_add(own);
        if rank > 0 && budget.is_some_and(|budget| sum > budget) {
            selection.dropped.push((rank, DropReason::OverBudget));
            selection.cut_count += 1;
            continue;
        }
        for fact in repeated {
            taken.give_up(fact);
            selection.dropped.push((fact, DropReason::SaidByItsTurns));
        }
        taken.take(rank, own);
    }
    selection.dropped.sort_unstable_by_key(|(rank, _)| *rank);
    selection.tokens = taken.sum;
    selection.truncated = selection.cut_count > 0 || budget.is_some_and(|budget| taken.sum > budget);
    selection.kept = taken.ranks();
    Ok(selection)
}

/// What is taken so far.
#[derive(Default)]
struct Taken {
    /// By rank, what it counts where it is taken.
    tokens: Vec<Option<u64>>,
    len: usize,
    sum: u64,
}

impl Taken {
    fn has(&self, rank: usize) -> bool {
        self.tokens.get(rank).is_some_and(Option::is_some)
    }

    fn take(&mut self, rank: usize, tokens: u64) {
        if let Some(slot) = self.tokens.get_mut(rank) {
            *slot = Some(tokens);
            self.len += 1;
            self.sum = self.sum.saturating_add(tokens);
        }
    }

    fn give_up(&mut self, rank: usize) {
        if let Some(tokens) = self.tokens.get_mut(rank).and_then(Option::take) {
            self.len -= 1;
            self.sum = self.sum.saturating_sub(tokens);
        }
    }

    fn sum_of(&self, ranks: &[usize]) -> u64 {
        let given_up: u64 = ranks.iter().filter_map(|rank| self.tokens.get(*rank).copied().flatten()).sum();
        given_up.min(self.sum)
    }

    fn ranks(&self) -> Vec<usize> {
        self.tokens.iter().enumerate().filter(|(_, tokens)| tokens.is_some()).map(|(rank, _)| rank).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranks(n: usize) -> Vec<usize> {
        (0..n).collect()
    }

    fn select_counts(counts: &[u64], limit: Option<usize>, budget: Option<u64>) -> Selection {
        select::<()>(&ranks(counts.len()), limit, budget, &Sources::default(), |rank| Ok(counts[rank])).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_skipped_and_named() {
        let got = select_counts(&[40, 150, 30, 90, 10], None, Some(80));
        assert_eq!((got.kept, got.tokens, got.cut_count), (vec![0, 2, 4], 80, 2));
        assert_eq!(got.dropped, [(1, DropReason::OverBudget), (3, DropReason::OverBudget)]);
        assert!(got.truncated);
    }

    #[test]
    fn the_top_result_always_ships() {
        let got = select_counts(&[150, 30, 0], Some(10), Some(80));
        assert_eq!((got.kept, got.truncated, got.tokens), (vec![0], true, 150));
    }

    #[test]
    fn a_limit_of_zero_gives_nothing_and_counts_nothing() {
        let got = select::<()>(&ranks(2), Some(0), Some(80), &Sources::default(), |_| Err(())).unwrap();
        assert_eq!(got.dropped, [(0, DropReason::OverLimit), (1, DropReason::OverLimit)]);
        assert!(got.kept.is_empty() && !got.truncated);
    }

    #[test]
    fn without_a_budget_nothing_is_counted() {
        let got = select::<()>(&ranks(3), Some(2), None, &Sources::default(), |_| Err(())).unwrap();
        assert_eq!((got.kept, got.tokens), (vec![0, 1], 0));
    }

    #[test]
    fn a_counter_that_fails_fails_the_selection() {
        assert_eq!(select(&ranks(3), None, Some(1), &Sources::default(), |_| Err("no")), Err("no"));
    }

    #[test]
    fn counts_beyond_all_bounds_do_not_wrap() {
        let got = select_counts(&[u64::MAX, u64::MAX, 1], None, Some(u64::MAX));
        assert_eq!(got.kept, [0, 1, 2]);
    }

    /// What fact ranks cite, as sources; ranks are ids.
    fn sources(n: usize, cited: &[(usize, usize)]) -> Sources {
        let ids: Vec<String> = (0..n).map(|rank| rank.to_string()).collect();
        let turns_of =
            |rank: usize| cited.iter().filter(move |(fact, _)| *fact == rank).map(|(_, turn)| turn.to_string());
        let all: Vec<(String, Vec<String>)> =
            ids.into_iter().enumerate().map(|(rank, id)| (id, turns_of(rank).collect())).collect();
        Sources::new(all.iter().map(|(id, cited)| (id.as_str(), cited.as_slice())))
    }

    #[test]
    fn a_turn_takes_the_place_of_its_fact() {
        // Rank 0 is a fact of rank 2, rank 3 another fact of it.
        let got =
            select::<()>(&ranks(4), None, Some(70), &sources(4, &[(0, 2), (3, 2)]), |rank| Ok([20, 30, 40, 1][rank]))
                .unwrap();
        assert_eq!((got.kept, got.tokens, got.truncated), (vec![1, 2], 70, false));
        assert_eq!(got.dropped, [(0, DropReason::SaidByItsTurns), (3, DropReason::SaidByItsTurns)]);
    }

    #[test]
    fn a_fact_stays_where_its_turn_does_not_fit() {
        let got = select::<()>(&ranks(2), None, Some(70), &sources(2, &[(0, 1)]), |rank| Ok([20, 71][rank])).unwrap();
        assert_eq!((got.kept, got.dropped), (vec![0], vec![(1, DropReason::OverBudget)]));
    }

    #[test]
    fn what_is_offered_first_is_taken_first_and_named_by_rank() {
        let got = select::<()>(&[0, 2, 1], None, Some(60), &Sources::default(), |rank| Ok([20, 30, 40][rank])).unwrap();
        assert_eq!((got.kept, got.dropped), (vec![0, 2], vec![(1, DropReason::OverBudget)]));
    }

    proptest! {
        #[test]
        fn a_selection_holds_no_fact_beside_all_its_turns(
            counts in prop::collection::vec(0_u64..50, 0..20), limit in prop::option::of(0_usize..12),
            budget in prop::option::of(0_u64..200), pairs in prop::collection::btree_set((0_usize..20, 0_usize..20), 0..25),
            shuffled in Just(ranks(20)).prop_shuffle()
        ) {
            let n = counts.len();
            let rest = shuffled.into_iter().filter(|rank| (1..n).contains(rank));
            let order: Vec<usize> = (0..n.min(1)).chain(rest).collect();
            // Even ranks are facts, odd ones turns; a turn that is not there makes its facts stay.
            let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(|(fact, turn)| fact % 2 == 0 && turn % 2 == 1).collect();
            let turns = |fact: usize| pairs.iter().filter(move |(other, _)| *other == fact).map(|(_, turn)| *turn);
            let repeats = |fact: usize, kept: &[usize]| turns(fact).count() > 0 && turns(fact).all(|turn| kept.contains(&turn));
            let got = select::<()>(&order, limit, budget, &sources(n, &pairs), |rank| Ok(counts[rank])).unwrap();
            let mut kept: Vec<usize> = Vec::new();
            for &rank in &order {
                if kept.len() >= limit.unwrap_or(usize::MAX) || repeats(rank, &kept) {
                    continue;
                }
                let mut with: Vec<usize> = kept.iter().copied().chain([rank]).collect();
                let all = with.clone();
                with.retain(|other| *other == rank || !repeats(*other, &all));
                let sum: u64 = with.iter().map(|rank| counts[*rank]).sum();
                if rank == 0 || budget.is_none_or(|budget| sum <= budget) {
                    kept = with;
                }
            }
            kept.sort_unstable();
            prop_assert_eq!(&got.kept, &kept);
            prop_assert_eq!(got.tokens, budget.map_or(0, |_| kept.iter().map(|rank| counts[*rank]).sum()));
            prop_assert!(kept.iter().all(|rank| !repeats(*rank, &kept)));
            prop_assert_eq!(got.dropped.len(), n - kept.len());
            for (rank, reason) in &got.dropped {
                prop_assert!(*reason != DropReason::SaidByItsTurns || turns(*rank).count() > 0);
            }
        }

        #[test]
        fn a_selection_is_greedy_by_rank(
            counts in prop::collection::vec(prop_oneof![0_u64..50, Just(1 << 40)], 0..30),
            limit in prop::option::of(0_usize..12), budget in 0_u64..200
        ) {
            let got = select_counts(&counts, limit, Some(budget));
            let (mut kept, mut sum) = (Vec::new(), 0);
            for (rank, tokens) in counts.iter().enumerate() {
                if kept.len() < limit.unwrap_or(usize::MAX) && (rank == 0 || sum + tokens <= budget) {
                    kept.push(rank);
                    sum += tokens;
                }
            }
            prop_assert_eq!(&got.kept, &kept);
            prop_assert_eq!(got.tokens, sum);
            prop_assert_eq!(got.truncated, sum > budget || got.cut_count > 0);
            prop_assert_eq!(got.kept.len() + got.dropped.len(), counts.len());
        }
    }
}
