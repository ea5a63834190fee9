//! What belongs to memories: contents, vectors, feedback, and the models that made the vectors.
use rusqlite::Row;

use super::Salvage;
use crate::error::Result;
use crate::model::Outcome;
use crate::store::calibration;
use crate::store::codec::{self, HeadBlob};
use crate::store::fault::At;
use crate::store::incoming::Place;
use crate::store::load::{feedback_sum, vector_seed};
use crate::store::models::model_seed;
use crate::store::rows::Seq;
use crate::store::verify::Fault;
use crate::store::walk::{Table, is_damage};

const CONTENT: Table = Table { name: "content", key: "seq", columns: "head, body" };
const MODEL: Table = Table { name: "model", key: "id", columns: "name, dimension, probe, current, incoming" };
const CALIBRATION: Table = Table { name: "calibration", key: "model", columns: "data" };
const INCOMING: Table = Table { name: "incoming", key: "seq", columns: "vid, parts, sum" };
const VECTOR: Table = Table { name: "vector", key: "vid", columns: "seq, model, part, data" };
const FEEDBACK: Table = Table { name: "feedback", key: "id", columns: "seq, outcome, ts, sum" };

/// What is done with a slot (1: of a move), seq, vid and row.
type VectorVisit<'a, S> = &'a mut dyn FnMut(&mut S, usize, Seq, i64, &Row<'_>) -> Result<()>;

struct ModelRow {
    id: i64,
    name: String,
    dimension: u32,
    probe: Vec<u8>,
    current: i64,
    incoming: i64,
}

impl ModelRow {
    fn read(row: &Row<'_>, id: i64) -> rusqlite::Result<Self> {
        let probe = row.get_ref(3)?.as_blob()?.to_vec();
        Ok(Self { id, name: row.get(1)?, dimension: row.get(2)?, probe, current: row.get(4)?, incoming: row.get(5)? })
    }

    fn is_whole(&self) -> bool {
        codec::decode_floats(&self.probe, model_seed(&self.name, self.dimension)).is_some()
    }
}

/// A model in the new file: how many numbers its vectors have, and its places among the current and the incoming ones.
pub(super) struct SavedModel {
    dimension: i64,
    places: [i64; 2],
}

impl SavedModel {
    /// Could it have made a memory's current (slot 0) or incoming (1) vector of so many numbers?
    fn made(&self, slot: usize, length: usize) -> bool {
        self.dimension == length as i64 && self.places.get(slot).is_some_and(|place| *place > 0)
    }
}

/// Are the places 1, 2 and so on, those that are not in use (0) left out?
fn dense(places: impl Iterator<Item = i64>) -> bool {
    let mut places: Vec<i64> = places.filter(|place| *place != 0).collect();
    places.sort_unstable();
    (1_i64..).zip(&places).all(|(expected, place)| expected == *place)
}

/// What a damaged row has in place of a value.
fn readable<T>(found: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_damage(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Salvage<'_> {
    pub(super) fn save_contents(&mut self) -> Result<()> {
        let path = self.path;
        self.each(CONTENT, &mut |salvage, seq, row| {
            let blobs = row.get_ref(1).and_then(|head| Ok((head.as_blob()?, row.get_ref(2)?.as_blob()?)));
            let (head, body) = readable(blobs).at(path)?.unwrap_or((&[], &[]));
            let decoded = codec::decode_head(head, seq);
            let whole = decoded.is_some() && codec::decode_body(body, head).is_some();
            match decoded {
                Some(decoded) if whole && salvage.takes(seq, &decoded) => {
                    salvage.save_content(seq, decoded, head, body)
                }
                decoded => {
                    salvage.lose_content(seq, decoded.map(|head| head.id), head, body);
                    Ok(())
                }
            }
        })
    }

    fn takes(&self, seq: Seq, head: &HeadBlob) -> bool {
        let Some(saved) = self.memories.get(&seq) else { return false };
        self.origin_is_new || self.origin.hash_key.id(&head.id) == saved.entry.id
    }

    fn save_content(&mut self, seq: Seq, decoded: HeadBlob, head: &[u8], body: &[u8]) -> Result<()> {
        let hash_key = self.origin.hash_key;
        self.new
            .prepare_cached("INSERT INTO content VALUES (?1, ?2, ?3)")
            .and_then(|mut insert| insert.execute((seq, head, body)))
            .at(self.into)?;
        if let Some(saved) = self.memories.get_mut(&seq) {
            saved.entry.id = hash_key.id(&decoded.id);
            saved.entry.key = decoded.key.as_deref().map(|key| hash_key.key(key));
            saved.id = Some(decoded.id);
        }
        self.report.count("content");
        Ok(())
    }

    /// Contents without a memory are those of an erased one, and zeroes, unless rows of `memory` are missing: of a page that is not
    /// reached any more nothing else tells.
    fn lose_content(&mut self, seq: Seq, id: Option<String>, head: &[u8], body: &[u8]) {
        let erased = !head.is_empty() && head.iter().chain(body).all(|byte| *byte == 0);
        if self.memories.contains_key(&seq) {
            if id.is_some() {
                self.lose_entry(seq); // told here, with its id
                self.lose(
                    Fault::Checksum,
                    "content",
                    seq,
                    id,
                    "the text does not match its checksum; the memory is lost",
                );
            }
        } else if !erased && (id.is_some() || self.memory_damaged) {
            let what = "its row in `memory` cannot be read; the memory is lost";
            self.lose(Fault::Missing, "memory", seq, id, what);
        }
    }

    /// The memory goes; who was superseded by it is linked to its successor.
    pub(super) fn lose_entry(&mut self, seq: Seq) {
        if let Some(lost) = self.memories.remove(&seq) {
            self.lost_successors.insert(seq, lost.entry.head.superseded_by.unwrap_or(0));
        }
    }

    pub(super) fn save_models(&mut self) -> Result<()> {
        let path = self.path;
        let mut kept = Vec::new();
        let mut lost = false;
        self.each(MODEL, &mut |salvage, id, row| {
            let found = readable(ModelRow::read(row, id)).at(path)?;
            if let Some(model) = found.filter(ModelRow::is_whole) {
                kept.push(model);
            } else {
                lost = true;
                salvage.lose(Fault::Checksum, "model", id, None, "the model is lost, and the vectors it made with it");
            }
            Ok(())
        })?;
        // One of two models alone would not be what any memory was stored with.
        let current = !lost && dense(kept.iter().map(|model| model.current));
        let incoming = !lost && dense(kept.iter().map(|model| model.incoming));
        for model in kept {
            let place = if current { model.current } else { 0 };
            let moving = if incoming { model.incoming } else { 0 };
            let ModelRow { id, name, dimension, probe, .. } = model;
            self.new
                .execute(
                    "INSERT INTO model VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    (id, &name, dimension, &probe, place, moving),
                )
                .at(self.into)?;
            self.report.count("model");
            self.models.insert(id, SavedModel { dimension: i64::from(dimension), places: [place, moving] });
            self.save_calibration(id, &name, dimension)?;
        }
        Ok(())
    }

    fn save_calibration(&mut self, model: i64, name: &str, dimension: u32) -> Result<()> {
        let path = self.path;
        self.each(CALIBRATION, &mut |salvage, id, row| {
            if id != model {
                return Ok(());
            }
            let data = readable(row.get_ref(1).and_then(|data| Ok(data.as_blob()?))).at(path)?;
            match data.filter(|data| calibration::is_whole(data, model, name, dimension)) {
                Some(data) => {
                    salvage.new.execute("INSERT INTO calibration VALUES (?1, ?2)", (model, data)).at(salvage.into)?;
                    salvage.report.count("calibration");
                }
                None => salvage.lose(
                    Fault::Checksum,
                    "calibration",
                    id,
                    None,
                    "what was measured is lost: calibrate() again",
                ),
            }
            Ok(())
        })
    }

    /// Whole sets only: once to count, once to copy.
    pub(super) fn save_vectors(&mut self) -> Result<()> {
        self.read_incoming()?;
        self.each_vector(&mut |salvage, slot, seq, _, _| {
            if let Some(saved) = salvage.memories.get_mut(&seq)
                && let Some(count) = saved.vectors.get_mut(slot)
            {
                *count += 1;
            }
            Ok(())
        })?;
        self.drop_incomplete_vectors();
        let more = std::mem::take(&mut self.report);
        self.each_vector(&mut |salvage, _, seq, vid, row| {
            let (model, part): (i64, i64) = (row.get(2).at(salvage.path)?, row.get(3).at(salvage.path)?);
            let data = row.get_ref(4).and_then(|data| Ok(data.as_blob()?)).at(salvage.path)?;
            salvage
                .new
                .prepare_cached("INSERT INTO vector VALUES (?1, ?2, ?3, ?4, ?5)")
                .and_then(|mut insert| insert.execute((vid, seq, model, part, data)))
                .at(salvage.into)?;
            salvage.report.count("vector");
            Ok(())
        })?;
        // What the second walk could not read, the first has told.
        let copied = std::mem::replace(&mut self.report, more);
        self.report.checked.extend(copied.checked);
        Ok(())
    }

    fn read_incoming(&mut self) -> Result<()> {
        let path = self.path;
        self.each(INCOMING, &mut |salvage, seq, row| {
            let place = || Ok((Place { vid: row.get(1)?, parts: row.get(2)? }, row.get::<_, i64>(3)?));
            match readable(place()).at(path)? {
                Some((place, sum)) if place.sum(seq) == sum => {
                    salvage.incoming.insert(seq, place);
                }
                _ => salvage.lose(Fault::Checksum, "incoming", seq, None, "reembed() embeds it once more"),
            }
            Ok(())
        })
    }

    /// Those that are whole and that a memory points at; the slot is 1 for those of a move.
    fn each_vector(&mut self, visit: VectorVisit<'_, Self>) -> Result<()> {
        let path = self.path;
        self.each(VECTOR, &mut |salvage, vid, row| {
            let numbers = || Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get_ref(4)?.as_blob()?));
            let Some((seq, model, part, data)) = readable(numbers()).at(path)? else { return Ok(()) };
            let (seq, model, part): (Seq, i64, i64) = (seq, model, part);
            let Some(floats) = codec::decode_floats(data, vector_seed(seq, model, part)) else { return Ok(()) };
            let Some(saved) = salvage.memories.get(&seq) else { return Ok(()) };
            let slot = if saved.entry.vids().contains(&vid) {
                0
            } else if salvage.incoming.get(&seq).is_some_and(|place| place.vids().contains(&vid)) {
                1
            } else {
                return Ok(());
            };
            let made = salvage.models.get(&model);
            if made.map_or(model == 0 && slot == 0, |made| made.made(slot, floats.len())) {
                visit(salvage, slot, seq, vid, row)?;
            }
            Ok(())
        })
    }

    fn drop_incomplete_vectors(&mut self) {
        let mut without = Vec::new();
        for saved in self.memories.values_mut() {
            if saved.vectors[0] != saved.entry.parts {
                saved.entry.parts = 0;
                without.push((saved.entry.vid, saved.id.clone()));
            }
        }
        for (vid, id) in without {
            let what = "the memory is saved without its vectors: it is found by its words until the next reembed()";
            self.lose(Fault::Missing, "vector", vid, id, what);
        }
        let memories = &self.memories;
        let whole = |seq: &Seq, place: &Place| memories.get(seq).is_some_and(|saved| saved.vectors[1] == place.parts);
        self.incoming.retain(|seq, place| whole(seq, place));
    }

    pub(super) fn save_feedback(&mut self) -> Result<()> {
        let path = self.path;
        self.each(FEEDBACK, &mut |salvage, id, row| {
            let numbers = || Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
            let Some((seq, outcome, ts, sum)) = readable(numbers()).at(path)? else { return Ok(()) };
            let (seq, outcome, ts, sum): (Seq, i64, i64, i64) = (seq, outcome, ts, sum);
            let valid = u8::try_from(outcome).ok().and_then(Outcome::from_code).is_some();
            let whole = valid && sum == feedback_sum(seq, outcome, ts);
            let Some(saved) = salvage.memories.get_mut(&seq).filter(|_| whole) else {
                return Ok(());
            };
            saved.feedbacks += 1;
            salvage
                .new
                .prepare_cached("INSERT INTO feedback VALUES (?1, ?2, ?3, ?4, ?5)")
                .and_then(|mut insert| insert.execute((id, seq, outcome, ts, sum)))
                .at(salvage.into)?;
            salvage.report.count("feedback");
            Ok(())
        })
    }
}
