#![allow(clippy::indexing_slicing)]
use proptest::prelude::*;

use super::*;
use crate::rank::decay::feedback_score;

const DAY: i64 = 86_400_000_000;
const DEFAULTS: Blend = Blend { recency_weight: 0.5, half_life_days: 7.0, feedback_weight: 0.25 };

fn columns<'a>(relevance: &'a [f32], ts: &'a [i64], tokens: &'a [u32]) -> Columns<'a> {
    Columns { relevance, ts, tokens }
}

fn order(blended: &[Pooled]) -> Vec<u32> {
    blended.iter().map(|pooled| pooled.row).collect()
}

#[test]
fn a_pool_is_twice_the_limit_and_at_least_twenty() {
    let relevance: Vec<f32> = (0..100_u8).map(f32::from).collect();
    let (ts, tokens, all) = ([0; 100], [1; 100], (0..100).collect::<Vec<u32>>());
    for (limit, size) in [(0, 20), (10, 20), (15, 30), (80, 100), (usize::MAX, 100)] {
        let pool = pool(&columns(&relevance, &ts, &tokens), &all, PoolSize::Limit(limit));
        assert_eq!(pool, (0..100).rev().take(size).collect::<Vec<u32>>());
    }
}

#[test]
fn without_a_limit_a_pool_holds_one_and_a_half_budgets() {
    let relevance: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let (ts, tokens, all) = ([0; 1000], [10; 1000], (0..1000).collect::<Vec<u32>>());
    for (budget, size) in [(0, 20), (100, 20), (200, 30), (203, 31), (2000, 300), (6_000, 900), (u64::MAX, 1000)] {
        let pool = pool(&columns(&relevance, &ts, &tokens), &all, PoolSize::Budget(budget));
        assert_eq!(pool.len(), size, "budget {budget}");
        assert_eq!(pool[0], 999);
    }
}

#[test]
fn ties_go_to_the_newer_then_to_the_later_inserted() {
    let columns = columns(&[1.0; 4], &[5, 9, 9, 7], &[1; 4]);
    let pool = pool(&columns, &[0, 1, 2, 3], PoolSize::Limit(4));
    assert_eq!(pool, [2, 1, 3, 0]);
    let flat = Blend { recency_weight: 0.0, ..DEFAULTS };
    let blended = blend(&columns, &pool, 9, &flat, |_| 0.0);
    assert_eq!(order(&blended), [2, 1, 3, 0]);
    assert!(blended.iter().all(|pooled| pooled.relevance_norm >= 1.0), "all equal: all the best");
}

#[test]
fn an_old_exact_answer_comes_before_new_noise() {
    let now = 400 * DAY;
    let mut relevance: Vec<f32> = (0..1000_u16).map(|row| 0.3 + 0.2 * f32::from(row) / 1000.0).collect();
    let mut ts = vec![now - 60_000_000; 1000];
    relevance.push(1.4);
    ts.push(now - 365 * DAY);
    let (tokens, all) = (vec![10; 1001], (0..1001).collect::<Vec<u32>>());
    let columns = columns(&relevance, &ts, &tokens);
    let pool = pool(&columns, &all, PoolSize::Limit(10));
    assert_eq!(blend(&columns, &pool, now, &DEFAULTS, |_| 0.0)[0].row, 1000);
}

#[test]
fn a_thousand_praises_do_not_lift_the_worst_of_the_pool_over_the_best() {
    let now = 100 * DAY;
    let praise = vec![(1, now); 1000];
    let ts = [now - DAY; 2];
    let columns = columns(&[1.0, 0.2], &ts, &[1; 2]);
    let feedback = |row| if row == 1 { feedback_score(&praise, now, 30.0) } else { 0.0 };
    let blended = blend(&columns, &[0, 1], now, &DEFAULTS, feedback);
    assert_eq!(order(&blended), [0, 1]);
    assert!(blended[1].feedback > 900.0, "shown as given");
}

#[test]
fn a_gap_does_nothing_below_zero() {
    assert_eq!(within_gap(&[2.0, 1.0, 0.99], 0.5), 2);
    assert_eq!(within_gap(&[2.0, 2.0], 1.0), 2);
    assert_eq!(within_gap(&[0.0, -1.0], 0.9), 2);
    assert_eq!(within_gap(&[-1.0, -2.0], 0.9), 2);
    assert_eq!(within_gap(&[], 0.9), 0);
}

proptest! {
    #[test]
    fn the_blend_is_its_formula_sorted(
        rows in prop::collection::vec((0.0_f32..2.0, -50_i64..10, -3.0_f64..3.0), 1..40)
    ) {
        let relevance: Vec<f32> = rows.iter().map(|row| row.0).collect();
        let ts: Vec<i64> = rows.iter().map(|row| row.1 * DAY).collect();
        let pool: Vec<u32> = (0..rows.len() as u32).collect();
        let got = blend(&columns(&relevance, &ts, &[]), &pool, 0, &DEFAULTS, |row| rows[row as usize].2);
        let low = relevance.iter().copied().fold(f32::MAX, f32::min);
        let high = relevance.iter().copied().fold(f32::MIN, f32::max);
        for pair in got.windows(2) {
            prop_assert!(pair[0].score >= pair[1].score);
        }
        for pooled in &got {
            let (relevance, days, feedback) = rows[pooled.row as usize];
            let norm = if high > low { f64::from(relevance - low) / f64::from(high - low) } else { 1.0 };
            let age = f64::from((-days).max(0) as i32);
            let score = norm + 0.5 * 0.5_f64.powf(age / 7.0) + 0.25 * feedback.clamp(-2.0, 2.0);
            prop_assert!((pooled.score - score).abs() < 1e-5);
        }
    }

    #[test]
    fn a_budget_pool_is_the_shortest_head_of_the_sort_that_fills_it(
        rows in prop::collection::vec((0_u8..9, 0_i64..5, 0_u32..40), 0..300), budget in 0_u64..2000
    ) {
        let relevance: Vec<f32> = rows.iter().map(|row| f32::from(row.0)).collect();
        let ts: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let tokens: Vec<u32> = rows.iter().map(|row| row.2).collect();
        let all: Vec<u32> = (0..rows.len() as u32).collect();
        let mut sorted = all.clone();
        sorted.sort_by_key(|&row| (rows[row as usize].0, rows[row as usize].1, row));
        sorted.reverse();
        let sum = |size: usize| sorted[..size].iter().map(|row| u64::from(tokens[*row as usize])).sum::<u64>();
        let size = (1..=sorted.len()).find(|size| sum(*size) >= budget + budget / 2).unwrap_or(sorted.len());
        sorted.truncate(size.max(20));
        prop_assert_eq!(pool(&columns(&relevance, &ts, &tokens), &all, PoolSize::Budget(budget)), sorted);
    }
}
