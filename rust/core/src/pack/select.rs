//! Which of the ranked results to return.
use super::DropReason;

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

/// Takes ranks `0..n` in order until `limit` are taken, skipping what does not fit the rest of the budget. The top
/// result always ships. `count` is asked for a rank at most once, and not for what is over the limit.
pub fn select<E>(
    n: usize,
    limit: Option<usize>,
    budget: Option<u64>,
    mut count: impl FnMut(usize) -> Result<u64, E>,
) -> Result<Selection, E> {
    let mut selection = Selection::default();
    for rank in 0..n {
        if limit.is_some_and(|limit| selection.kept.len() >= limit) {
            selection.dropped.push((rank, DropReason::OverLimit));
            continue;
        }
        let Some(budget) = budget else {
            selection.kept.push(rank);
            continue;
        };
        let tokens = selection.tokens.saturating_add(count(rank)?);
        if tokens <= budget || rank == 0 {
            selection.kept.push(rank);
            selection.tokens = tokens;
            selection.truncated |= tokens > budget;
        } else {
            selection.dropped.push((rank, DropReason::OverBudget));
            selection.cut_count += 1;
            selection.truncated = true;
        }
    }
    Ok(selection)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn select_counts(counts: &[u64], limit: Option<usize>, budget: Option<u64>) -> Selection {
        select::<()>(counts.len(), limit, budget, |rank| Ok(counts[rank])).unwrap()
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
        let got = select::<()>(2, Some(0), Some(80), |_| Err(())).unwrap();
        assert_eq!(got.dropped, [(0, DropReason::OverLimit), (1, DropReason::OverLimit)]);
        assert!(got.kept.is_empty() && !got.truncated);
    }

    #[test]
    fn without_a_budget_nothing_is_counted() {
        let got = select::<()>(3, Some(2), None, |_| Err(())).unwrap();
        assert_eq!((got.kept, got.tokens), (vec![0, 1], 0));
    }

    #[test]
    fn a_counter_that_fails_fails_the_selection() {
        assert_eq!(select(3, None, Some(1), |_| Err("no")), Err("no"));
    }

    #[test]
    fn counts_beyond_all_bounds_do_not_wrap() {
        let got = select_counts(&[u64::MAX, u64::MAX, 1], None, Some(u64::MAX));
        assert_eq!(got.kept, [0, 1, 2]);
    }

    proptest! {
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
