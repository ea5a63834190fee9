//! Contents, vectors and feedback: each belongs to a memory, or is overwritten.
use super::findings::{row, row_of};
use super::{Fault, Verifier, readable, zeroes};
use crate::error::Result;
use crate::model::Outcome;
use crate::store::codec;
use crate::store::entry::Entry;
use crate::store::incoming::Place;
use crate::store::load::{feedback_sum, vector_seed};
use crate::store::rows::Seq;
use crate::store::walk::Table;

const CONTENT: Table = Table { name: "content", key: "seq", columns: "head, body" };
const VECTOR: Table = Table { name: "vector", key: "vid", columns: "seq, model, part, data" };
const FEEDBACK: Table = Table { name: "feedback", key: "id", columns: "seq, outcome, ts, sum" };
const INCOMING: Table = Table { name: "incoming", key: "seq", columns: "vid, parts, sum" };

/// Who points at a vector.
enum Owner {
    Unreadable,
    Nobody,
    /// A memory, among its own vectors (0) or those of a move (1).
    Memory {
        slot: usize,
    },
}

/// A model: how many numbers its vectors have, and its places among the current and the incoming ones (0: none).
struct Known {
    id: i64,
    dimension: i64,
    places: [i64; 2],
}

impl Verifier<'_, '_> {
    pub(super) fn contents(&self) -> Result<()> {
        self.content()?;
        self.incoming()?;
        self.vectors()?;
        self.feedback()
    }

    fn content(&self) -> Result<()> {
        self.each(CONTENT, &mut |seq, found| {
            let blobs = found.get_ref(1).and_then(|head| Ok((head.as_blob()?, found.get_ref(2)?.as_blob()?)));
            let Some((head, body)) = readable(blobs, self.tx)? else { return Ok(None) };
            let given = seq > 0 && seq < self.tx.meta.next_seq;
            self.expect(given, Fault::Number, row("content", seq), "a number that was never given out");
            match Self::known(self.tx.entry(seq))? {
                // Its row in `memory` is damaged, and listed: whether this one should be zeroes is not known.
                None if zeroes(head) && zeroes(body) => Ok(Some(())),
                None => Ok(codec::decode_head(head, seq).and(codec::decode_body(body, head)).map(drop)),
                Some(None) => {
                    let erased = zeroes(head) && zeroes(body);
                    let here = row("content", seq);
                    self.expect(erased, Fault::NotErased, here, "of a memory that is not there, and not overwritten");
                    Ok(Some(()))
                }
                Some(Some(entry)) => self.content_of(&entry, head, body),
            }
        })
    }

    fn content_of(&self, entry: &Entry, head: &[u8], body: &[u8]) -> Result<Option<()>> {
        let seq = entry.head.seq;
        let Some(decoded) = codec::decode_head(head, seq) else { return Ok(None) };
        if codec::decode_body(body, head).is_none() {
            return Ok(None);
        }
        let hash_key = self.tx.hash_key();
        let same =
            hash_key.id(&decoded.id) == entry.id && decoded.key.as_deref().map(|key| hash_key.key(key)) == entry.key;
        self.expect(same, Fault::Number, row_of("content", seq, seq), "its id or key is not the one that is indexed");
        for id in &decoded.consolidated_from {
            let Some(Some(turn)) = Self::known(self.tx.find_entry(id))? else { continue };
            // An id given out anew is another turn's.
            let flagged = turn.head.cited || turn.head.seq > seq;
            let here = row_of("memory", turn.head.seq, turn.head.seq);
            self.expect(flagged, Fault::Number, here, "a fact was made from it, and its row does not say so");
        }
        Ok(Some(()))
    }

    fn incoming(&self) -> Result<()> {
        let moving = self.number("SELECT count(*) FROM model WHERE incoming > 0", [])?;
        self.each(INCOMING, &mut |seq, found| {
            let place = || Ok((Place { vid: found.get(1)?, parts: found.get(2)? }, found.get::<_, i64>(3)?));
            let Some((place, sum)) = readable(place(), self.tx)? else { return Ok(None) };
            if place.sum(seq) != sum {
                return Ok(None);
            }
            let here = row_of("incoming", seq, seq);
            self.expect(moving != Some(0), Fault::Number, here, "no move to other models is under way");
            let memory = Self::known(self.tx.entry(seq))?;
            self.expect(!matches!(memory, Some(None)), Fault::Missing, here, "its memory is not there");
            self.expect_vectors(here, seq, place.vid, place.parts)?;
            Ok(Some(()))
        })
    }

    fn vectors(&self) -> Result<()> {
        let models = self.places()?;
        let mut last = (0, 0, 0, 0);
        self.each(VECTOR, &mut |vid, found| {
            let numbers = || Ok((found.get(1)?, found.get(2)?, found.get(3)?, found.get_ref(4)?.as_blob()?));
            let Some((seq, model, part, data)) = readable(numbers(), self.tx)? else { return Ok(None) };
            let (seq, model, part): (Seq, i64, i64) = (seq, model, part);
            let given = vid > 0 && vid < self.tx.meta.next_vid;
            self.expect(given, Fault::Number, row("vector", vid), "a number that was never given out");
            let slot = match self.owner(vid, seq)? {
                Owner::Unreadable => {
                    let whole = zeroes(data) || codec::open(data, vector_seed(seq, model, part)).is_some();
                    return Ok(whole.then_some(()));
                }
                Owner::Nobody => {
                    let here = row("vector", vid);
                    self.expect(zeroes(data), Fault::NotErased, here, "of no memory, and not overwritten");
                    return Ok(Some(()));
                }
                Owner::Memory { slot } => slot,
            };
            let Some(floats) = codec::decode_floats(data, vector_seed(seq, model, part)) else { return Ok(None) };
            let here = row_of("vector", vid, seq);
            let known = models.iter().find(|known| known.id == model);
            let fits = known.map_or(model == 0, |known| floats.len() as i64 == known.dimension);
            self.expect(fits, Fault::Number, here, "not of its model's dimension, or of no model");
            let used = known.is_none_or(|known| known.places.get(slot).is_some_and(|place| *place > 0));
            self.expect(used, Fault::Number, here, "of a model that the collection does not have now");
            let next = last == (vid - 1, seq, model, part - 1);
            self.expect(next || part == 0, Fault::Number, here, "the part before it is not there");
            last = (vid, seq, model, part);
            Ok(Some(()))
        })
    }

    fn owner(&self, vid: i64, seq: Seq) -> Result<Owner> {
        let Some(entry) = Self::known(self.tx.entry(seq))? else { return Ok(Owner::Unreadable) };
        let Some(entry) = entry else { return Ok(Owner::Nobody) };
        if entry.vids().contains(&vid) {
            return Ok(Owner::Memory { slot: 0 });
        }
        let Some(incoming) = Self::known(self.tx.incoming(seq))? else { return Ok(Owner::Unreadable) };
        let moved = incoming.is_some_and(|place| place.vids().contains(&vid));
        Ok(if moved { Owner::Memory { slot: 1 } } else { Owner::Nobody })
    }

    fn places(&self) -> Result<Vec<Known>> {
        let ids = Self::known(self.tx.numbers("SELECT id FROM model ORDER BY id", []))?.unwrap_or_default();
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let number = |column: &str| self.number(&format!("SELECT {column} FROM model WHERE id = ?1"), [id]);
            if let (Some(dimension), Some(current), Some(incoming)) =
                (number("dimension")?, number("current")?, number("incoming")?)
            {
                found.push(Known { id, dimension, places: [current, incoming] });
            }
        }
        Ok(found)
    }

    fn feedback(&self) -> Result<()> {
        self.each(FEEDBACK, &mut |id, found| {
            let numbers = || Ok((found.get(1)?, found.get(2)?, found.get(3)?, found.get(4)?));
            let Some((seq, outcome, ts, sum)) = readable(numbers(), self.tx)? else { return Ok(None) };
            let (seq, outcome, ts, sum): (Seq, i64, i64, i64) = (seq, outcome, ts, sum);
            let known = u8::try_from(outcome).ok().and_then(Outcome::from_code).is_some();
            if !known || sum != feedback_sum(seq, outcome, ts) {
                return Ok(None);
            }
            let memory = Self::known(self.tx.entry(seq))?;
            let here = row_of("feedback", id, seq);
            self.expect(!matches!(memory, Some(None)), Fault::Missing, here, "its memory is not there");
            Ok(Some(()))
        })
    }
}
