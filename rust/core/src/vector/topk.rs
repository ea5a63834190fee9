//! The best k, in an order that never depends on chance.
use std::cmp::Ordering;

/// The best `k` candidates: score descending, then `tie` descending, then the larger index. Linear in the
/// candidates plus `k log k`. Scores are never NaN (quantised vectors are finite); one would sort above all others.
pub fn top_k<K: Ord>(
    candidates: impl IntoIterator<Item = u32>,
    k: usize,
    score: impl Fn(u32) -> f32,
    tie: impl Fn(u32) -> K,
) -> Vec<u32> {
    let order =
        |a: &u32, b: &u32| descending(score(*a), score(*b)).then_with(|| tie(*b).cmp(&tie(*a))).then_with(|| b.cmp(a));
    let Some(kth) = k.checked_sub(1) else { return Vec::new() };
    let room = k.saturating_mul(4);
    let mut best: Vec<u32> = Vec::new();
    let mut least = f32::NEG_INFINITY;
    for candidate in candidates {
        if score(candidate) < least {
            continue; // k others are better
        }
        best.push(candidate);
        if best.len() == room {
            let (_, worst, _) = best.select_nth_unstable_by(kth, order);
            least = score(*worst);
            best.truncate(k);
        }
    }
    if k < best.len() {
        best.select_nth_unstable_by(kth, order);
        best.truncate(k);
    }
    best.sort_unstable_by(order);
    best
}

/// Adding zero makes -0.0 and 0.0 one value, so that they tie.
fn descending(a: f32, b: f32) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn negative_zero_ties_with_zero() {
        let scores = [0.0, -0.0];
        assert_eq!(top_k(0..2, 2, |i| scores[i as usize], |_| 0), [1, 0]);
    }

    proptest! {
        #[test]
        fn top_k_is_the_head_of_a_full_sort(
            rows in prop::collection::vec((-3_i8..3, -3_i64..3), 0..80), k in 0_usize..90, step in 1_usize..4
        ) {
            let candidates: Vec<u32> = (0..rows.len() as u32).step_by(step).collect();
            let mut sorted = candidates.clone();
            sorted.sort_by_key(|&i| (rows[i as usize], i));
            sorted.reverse();
            sorted.truncate(k);
            let got = top_k(candidates, k, |i| f32::from(rows[i as usize].0), |i| rows[i as usize].1);
            prop_assert_eq!(got, sorted);
        }
    }
}
