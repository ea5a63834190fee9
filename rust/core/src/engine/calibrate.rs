//! Calibration: what to measure an embedder on, and the floors that were measured.
use std::sync::Arc;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::Engine;
use super::admit::{Admission, Reached};
use super::columns::{Asked, AskedVector, Columns, distinct};
use super::gather::Gathered;
use super::request::{Question, Reach, Sample, Sampled};
use super::view::{View, of_slot};
use crate::error::Result;
use crate::rank::language::Language;
use crate::rank::query::Query;
use crate::rank::refuse::evidence_among_500;
use crate::store::{Calibration, Floors, Head, Interrupt, Micros, ReadTx, Row, Seq, Version, WriteTx};

/// The floors as they were last read: asked for again only after somebody has written.
#[derive(Debug, Default)]
pub(super) struct KnownFloors(Mutex<Option<(Version, Floors)>>);

impl KnownFloors {
    /// As this snapshot has them.
    pub fn of(&self, tx: &ReadTx) -> Result<Floors> {
        let version = tx.version();
        if let Some((known, floors)) = *self.0.lock()
            && known == version
        {
            return Ok(floors);
        }
        let floors = tx.calibration()?.map(|calibration| calibration.floors).unwrap_or_default();
        *self.0.lock() = Some((version, floors));
        Ok(floors)
    }
}

impl Engine {
    /// At most so many live texts with their vectors, the same for the same contents; `None`: nothing was ever embedded here.
    pub fn calibration_sample(
        &self,
        most: usize,
        sitting_gap_us: i64,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Option<Sample>> {
        self.snapshot(interrupt, |view| {
            let Some(model) = view.tx.models()?.into_iter().next() else { return Ok(Some(None)) };
            let admission = Admission { documents: true, superseded: false, now, as_of: None };
            let Some(gathered) = view.gather(&everybody(), &admission, None)? else { return Ok(None) };
            let texts = sampled(view, &gathered, most, sitting_gap_us)?;
            Ok(Some(Some(Sample { model: model.id, texts })))
        })
    }

    /// The best evidence for a question, as it would be among 500 turns: of everybody's, or of the owner's of the memory that
    /// the question was taken from, without that one. `None`: no such question is ever refused.
    pub fn evidence(&self, question: &Question, now: Micros, interrupt: Interrupt) -> Result<Option<f64>> {
        let vectors = [AskedVector::plain(&question.vector)];
        let terms = distinct(&self.analyzer.query_terms(&question.text));
        let query = Query::read(&question.text, now, Language::of(self.analyzer.language()));
        self.snapshot(interrupt, |view| {
            let own = question.own.as_deref().map(|id| view.tx.find(id)).transpose()?.flatten();
            let Some(gathered) = asked_of(view, own.as_ref(), now)? else { return Ok(None) };
            let columns = Columns::new(&gathered, &Asked { terms: &terms, vectors: &vectors, ..Asked::default() })?;
            let left_out = own.and_then(|head| gathered.entries().position(|entry| entry.seq == head.seq));
            Ok(Some(evidence_among_500(&columns.scene(&query), left_out).map(f64::from)))
        })
    }

    /// Stores what was measured for the model with this id.
    pub fn set_calibration(&self, model: i64, calibration: &Calibration, interrupt: Interrupt) -> Result<()> {
        self.write(interrupt, |tx: &WriteTx| tx.set_calibration(model, calibration))?;
        self.scrub(interrupt);
        Ok(())
    }

    /// Forgets what was measured; `false`: nothing was.
    pub fn drop_calibration(&self, interrupt: Interrupt) -> Result<bool> {
        let dropped = self.write(interrupt, |tx: &WriteTx| tx.drop_calibration())?;
        if dropped {
            self.scrub(interrupt);
        }
        Ok(dropped)
    }

    /// The report that is stored for the current model.
    pub fn calibration(&self, interrupt: Interrupt) -> Result<Option<String>> {
        let stored = self.read(interrupt, |tx: &ReadTx| tx.calibration())?;
        Ok(stored.map(|calibration| calibration.report))
    }
}

fn everybody() -> Reach {
    Reach { any_user: true, ..Reach::default() }
}

/// The memories that a question is put to: its owner's, or everybody's.
fn asked_of(view: &View, own: Option<&Head>, now: Micros) -> Result<Option<Arc<Gathered>>> {
    let admission = Admission { documents: false, superseded: false, now, as_of: None };
    let Some(head) = own else { return view.gather(&everybody(), &admission, None) };
    let whole = Reached { partition: head.partition, scope: None, is_session: false, held: 0, rev: None };
    Ok(view.gather_from(&[whole], &admission)?.map(Arc::new))
}

/// The texts whose numbers have the least hashes: a sample that nobody's insertion order bends.
fn sampled(view: &View, gathered: &Gathered, most: usize, sitting_gap_us: i64) -> Result<Vec<Sampled>> {
    let mut columns = Columns::new(gathered, &Asked::default())?;
    let nothing = Query::default();
    columns.read_conversation(gathered, &nothing, sitting_gap_us);
    let thread = columns.scene(&nothing).thread;
    let sessions = sessions(gathered);
    let mut order: Vec<(u64, usize, Seq)> = gathered
        .entries()
        .enumerate()
        .map(|(row, entry)| (xxh3_64(&entry.seq.to_le_bytes()), row, entry.seq))
        .collect();
    order.sort_unstable();
    order.truncate(most);
    let mut texts = Vec::with_capacity(order.len());
    for (_, row, seq) in order {
        let Some((text, vectors)) = embedded(view, seq)? else { continue };
        texts.push(Sampled {
            id: text.id,
            text: text.text,
            vectors,
            session: sessions.get(row).copied().unwrap_or(-seq),
            sitting: thread.sitting().get(row).copied().unwrap_or_default(),
        });
    }
    Ok(texts)
}

/// A number for each session; what is in none has a negative one of its own.
fn sessions(gathered: &Gathered) -> Vec<i64> {
    let parts = gathered.parts().iter();
    parts
        .flat_map(|part| {
            part.entries().map(|(_, entry)| {
                let alone = entry.scope == part.reached.partition && !part.reached.is_session;
                if alone { -entry.seq } else { entry.scope }
            })
        })
        .collect()
}

/// A memory with its vectors by the first model; `None` for one without.
fn embedded(view: &View, seq: Seq) -> Result<Option<(Row, Vec<Vec<f32>>)>> {
    let found = view.tx.rows_with_vectors(&[seq])?.into_iter().next();
    let found = found.map(|(row, vectors)| (row, of_slot(0, vectors)));
    Ok(found.filter(|(_, vectors)| !vectors.is_empty()))
}
