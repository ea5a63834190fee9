//! Whom a judge should see: the nearest live facts of the same owner.
use super::Engine;
use super::admit::{Admission, Reached};
use super::columns::{Asked, AskedVector, Columns};
use super::model::expect_models;
use super::view::View;
use crate::error::Result;
use crate::rank::mode::Mode;
use crate::rank::query::Query;
use crate::rank::search::search_scores;
use crate::store::{Interrupt, Micros, Seq};

/// Rows read at a time while looking for texts that differ.
const CHUNK: usize = 16;

impl Engine {
    /// Id and text of the nearest live facts and pinned facts of the same owner, and of the same session where the new memory has
    /// one, other than the identical text. By the first model's cosine when there is a
    /// vector, else by shared words.
    #[expect(clippy::too_many_arguments, reason = "the contract's own arguments")]
    pub fn judge_candidates(
        &self,
        text: &str,
        vector: Option<&[f32]>,
        model_epoch: Option<i64>,
        user: Option<&str>,
        session: Option<&str>,
        limit: usize,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Vec<(String, String)>> {
        let terms = self.analyzer.counts(text);
        let vector = vector.map(AskedVector::plain).filter(|vector| vector.plain.is_some());
        let mode = if vector.is_some() { Mode::Dense } else { Mode::Lexical };
        let asked = Asked { terms: &terms, vectors: vector.as_slice(), ..Asked::default() };
        self.snapshot(interrupt, |view| {
            expect_models(view.tx, [model_epoch])?;
            let Some(scope) = view.tx.scope(user, session)? else { return Ok(Some(Vec::new())) };
            let own = match session {
                Some(_) => Reached::session(&scope),
                None => Reached::whole(&scope),
            };
            let admission = Admission { documents: false, superseded: false, now, as_of: None };
            let Some(gathered) = view.gather_from(&[own], &admission)? else { return Ok(None) };
            let columns = Columns::new(&gathered, &asked)?;
            let scores = search_scores(&columns.scene(&Query::default()), mode, 1.0).score;
            let facts = gathered.entries().zip(&scores).filter(|(entry, score)| {
                entry.kind.is_fact() && if mode == Mode::Dense { score.is_finite() } else { **score > 0.0 }
            });
            let mut nearest: Vec<(f32, Micros, Seq)> =
                facts.map(|(entry, score)| (*score, entry.ts, entry.seq)).collect();
            nearest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((b.1, b.2).cmp(&(a.1, a.2))));
            differing(view, &nearest, text, limit).map(Some)
        })
    }
}

fn differing(view: &View, nearest: &[(f32, Micros, Seq)], text: &str, limit: usize) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for chunk in nearest.chunks(CHUNK) {
        let seqs: Vec<Seq> = chunk.iter().map(|(_, _, seq)| *seq).collect();
        for row in view.tx.all_rows(&seqs)? {
            if found.len() >= limit {
                return Ok(found);
            }
            if row.text != text {
                found.push((row.id, row.text));
            }
        }
    }
    Ok(found)
}
