//! What was measured on the collection's own texts, for the model whose vectors it was measured on.
use super::codec;
use super::erase::Blobs;
use super::fault::At;
use super::models::model_seed;
use super::read::ReadTx;
use super::write::WriteTx;
use crate::error::{Error, Result};

pub(super) const TABLE: &str = "
CREATE TABLE calibration(model INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
";

/// Tells one state of a file from every other: generation and newest rev.
pub type Version = (u64, i64);

/// What takes the place of the embedder's own floors; `None`: not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Floors {
    /// The cosine that 98 % of unrelated pairs stay below.
    pub noise: Option<f64>,
    /// What a query's evidence must reach in 500 turns of 40 tokens.
    pub refusal: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    pub floors: Floors,
    /// JSON: numbers only, no text of anybody's.
    pub report: String,
}

impl ReadTx<'_> {
    /// What this snapshot is, for whoever keeps something that was read from it.
    #[must_use]
    pub fn version(&self) -> Version {
        (self.epoch(), self.meta.rev)
    }

    /// What was measured for the current model; of two, for the first.
    pub fn calibration(&self) -> Result<Option<Calibration>> {
        let mut statement = self.sql().prepare_cached("SELECT model, data FROM calibration").at(self.path())?;
        let mut rows = statement.query([]).at(self.path())?;
        let Some(row) = rows.next().at(self.path())? else { return Ok(None) };
        let (of, data): (i64, Vec<u8>) = row.get(0).and_then(|of| Ok((of, row.get(1)?))).at(self.path())?;
        let damaged = || self.damaged("calibration", of);
        let model = self.model(of)?.ok_or_else(damaged)?;
        let decoded = decode(&data, seed(of, &model.name, model.dimension)).ok_or_else(damaged)?;
        // What was measured for another model does not apply.
        Ok((self.model_ids()?.first() == Some(&of)).then_some(decoded))
    }
}

impl WriteTx<'_> {
    /// Stores what was measured for a model, in place of what was before. `Conflict`: the collection has moved to another
    /// model since.
    pub fn set_calibration(&self, model: i64, calibration: &Calibration) -> Result<()> {
        let current = self.models()?.into_iter().next().filter(|current| current.id == model);
        let Some(current) = current else {
            return Err(Error::Conflict(
                "the collection moved to another model while it was measured; calibrate again".to_owned(),
            ));
        };
        self.drop_calibration()?;
        let data = encode(calibration, seed(model, &current.name, current.dimension));
        self.step(|| {
            self.sql().execute("INSERT INTO calibration VALUES (?1, ?2)", (model, data)).at(self.path())?;
            self.rev().map(drop)
        })
    }

    /// Erases what was measured; `false`: there was nothing.
    pub fn drop_calibration(&self) -> Result<bool> {
        self.step(|| {
            let measured = self.numbers("SELECT model FROM calibration", [])?;
            let mut data = Blobs::new(c"calibration", c"data");
            measured.iter().try_for_each(|model| data.zero(self, *model))?;
            drop(data);
            if !measured.is_empty() {
                self.sql().execute("DELETE FROM calibration", []).at(self.path())?;
                // Takes a rev: whoever keeps the floors reads them again.
                self.note_erasure()?;
            }
            Ok(!measured.is_empty())
        })
    }
}

fn seed(model: i64, name: &str, dimension: u32) -> u64 {
    model_seed(name, dimension) ^ model as u64
}

/// Does its checksum match?
pub(super) fn is_whole(data: &[u8], model: i64, name: &str, dimension: u32) -> bool {
    decode(data, seed(model, name, dimension)).is_some()
}

fn encode(calibration: &Calibration, seed: u64) -> Vec<u8> {
    let Floors { noise, refusal } = calibration.floors;
    let mut out = vec![0; codec::SUM];
    for floor in [noise, refusal] {
        out.extend_from_slice(&floor.unwrap_or(f64::NAN).to_le_bytes());
    }
    out.extend_from_slice(calibration.report.as_bytes());
    codec::seal(out, seed)
}

fn decode(data: &[u8], seed: u64) -> Option<Calibration> {
    let (noise, rest) = codec::open(data, seed)?.split_first_chunk::<8>()?;
    let (refusal, report) = rest.split_first_chunk::<8>()?;
    let floor = |bytes: &[u8; 8]| Some(f64::from_le_bytes(*bytes)).filter(|floor| !floor.is_nan());
    Some(Calibration {
        floors: Floors { noise: floor(noise), refusal: floor(refusal) },
        report: String::from_utf8(report.to_vec()).ok()?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn calibration() -> Calibration {
        Calibration { floors: Floors { noise: Some(0.25), refusal: None }, report: "{\"auc\": 0.9}".to_owned() }
    }

    #[test]
    fn what_was_stored_comes_back() {
        let data = encode(&calibration(), 7);
        assert_eq!(decode(&data, 7).unwrap(), calibration());
    }

    #[test]
    fn a_flipped_bit_and_another_model_are_found() {
        let data = encode(&calibration(), 7);
        assert_eq!(decode(&data, 8), None);
        for place in 0..data.len() {
            let mut damaged = data.clone();
            damaged[place] ^= 4;
            assert_eq!(decode(&damaged, 7), None);
        }
        assert_eq!(decode(&data[..10], 7), None);
    }
}
