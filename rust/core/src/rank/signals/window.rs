//! What is talked about around a turn: BM25 of its terms together with its neighbours', `mm`.
//!
//! Of the terms of the turns beside it half counts, of the ones after those a quarter, each times `min(1, 40/L_i) min(1, 40/L_j)`:
//! long texts stand for themselves. What would count under a tenth is left out.
use super::{Signal, Stage};
use crate::lexical::bm25::{idf, term_weight};
use crate::rank::min_max::min_max;
use crate::rank::mode::Mode;
use crate::rank::scene::Scene;

const NEXT: f32 = 0.5;
const AFTER: f32 = 0.25;
const LENGTH: f32 = 40.0;
const LEAST: f32 = 0.1;

#[derive(Debug)]
pub struct Window;

impl Signal for Window {
    fn name(&self) -> &'static str {
        "window"
    }

    fn stage(&self) -> Stage {
        Stage::Base
    }

    /// 0.3 beside the static model, 0.25 beside stronger ones.
    fn default_weight(&self, dense_weight: f32) -> f32 {
        (0.425 - 0.25 * dense_weight).max(0.0)
    }

    fn silent_in(&self, mode: Mode) -> bool {
        mode == Mode::Dense
    }

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        if scene.matches.is_empty() {
            return vec![0.0; scene.len()];
        }
        let lent = lent(scene);
        let lengths = lengths(scene, &lent);
        let avg_len = lengths.iter().sum::<f32>() / scene.len().max(1) as f32;
        let (mut sums, mut tf) = (vec![0.0_f32; scene.len()], vec![0.0_f32; scene.len()]);
        let mut touched: Vec<u32> = Vec::new();
        for (term, postings) in scene.matches.iter() {
            for posting in postings {
                let row = posting.row as usize;
                let own = [(posting.row, 1.0)];
                for (other, share) in own.iter().chain(lent.get(row).into_iter().flatten().filter(|(_, share)| *share > 0.0)) {
                    if let Some(tf) = tf.get_mut(*other as usize) {
                        if *tf == 0.0 {
                            touched.push(*other);
                        }
                        *tf += share * posting.tf as f32;
                    }
                }
            }
            let idf = idf(scene.len(), touched.len()) * term.query_count as f32;
            for row in touched.drain(..) {
                let row = row as usize;
                if let (Some(sum), Some(tf), Some(len)) = (sums.get_mut(row), tf.get_mut(row), lengths.get(row)) {
                    *sum += term_weight(std::mem::take(tf), *len, avg_len, idf);
                }
            }
        }
        min_max(&mut sums);
        sums
    }
}

/// To whom each row lends its terms, and how much of them; 0 to nobody.
fn lent(scene: &Scene) -> Vec<[(u32, f32); 4]> {
    let short = |row: usize| scene.tokens.get(row).map_or(0.0, |tokens| (LENGTH / *tokens as f32).min(1.0));
    let to = |row: usize, other: Option<usize>, share: f32| match other {
        Some(other) => {
            let share = share * short(row) * short(other);
            (other as u32, if share < LEAST { 0.0 } else { share })
        }
        None => (0, 0.0),
    };
    let of = |row: usize| {
        let (left, right) = (scene.thread.previous(row), scene.thread.next(row));
        let left_after = left.and_then(|row| scene.thread.previous(row));
        let right_after = right.and_then(|row| scene.thread.next(row));
        [to(row, left, NEXT), to(row, right, NEXT), to(row, left_after, AFTER), to(row, right_after, AFTER)]
    };
    (0..scene.len()).map(of).collect()
}

fn lengths(scene: &Scene, lent: &[[(u32, f32); 4]]) -> Vec<f32> {
    let own = |row: u32| scene.doc_len.get(row as usize).map_or(0.0, |len| *len as f32);
    // Lending is symmetric: what a row lends to its neighbours is the share that it borrows of theirs.
    let borrowed = |shares: &[(u32, f32); 4]| shares.iter().map(|(other, share)| share * own(*other)).sum::<f32>();
    (0_u32..).zip(lent).map(|(row, shares)| own(row) + borrowed(shares)).collect()
}
