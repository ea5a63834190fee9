//! A memory on its way into the collection, with what it had where it comes from: as bytes, and back.
use super::codec::{self, HeadRef, Input};
use super::rows::{Micros, NewMemory};
use crate::model::{Judge, Kind, Outcome, Vector};

/// That a memory was superseded, when, and by whom, where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superseded {
    pub by: Option<String>,
    pub at: Micros,
}

/// A memory with its place in a file, its owner, and what happened to it since it was stored first.
#[derive(Debug, Clone, PartialEq)]
pub struct Staged {
    /// Where it stands in the file.
    pub line: u64,
    pub user: Option<String>,
    pub session: Option<String>,
    pub row: NewMemory,
    /// What its vectors were made for; `None`: not known.
    pub model_epoch: Option<i64>,
    pub supersedes: Option<String>,
    pub superseded: Option<Superseded>,
    /// A fact was made from it.
    pub cited: bool,
    pub feedback: Vec<(Outcome, Micros)>,
}

const NUMBERS: usize = 12;

impl Staged {
    pub(super) fn encode(&self) -> Vec<u8> {
        let row = &self.row;
        let mut out = Vec::with_capacity(256 + row.text.len());
        let flags = u64::from(self.cited) | u64::from(self.superseded.is_some()) << 1;
        let numbers = [
            Some(self.line as i64),
            Some(flags as i64),
            Some(row.kind as i64),
            row.turn,
            Some(row.ts),
            row.expires,
            Some(i64::from(row.tokens)),
            Some(i64::from(row.words)),
            Some(i64::from(row.question)),
            Some(row.judge as i64),
            self.model_epoch,
            self.superseded.as_ref().map(|superseded| superseded.at),
        ];
        for number in numbers {
            put_optional(&mut out, number);
        }
        let by = self.superseded.as_ref().and_then(|superseded| superseded.by.as_deref());
        for text in [self.user.as_deref(), self.session.as_deref(), self.supersedes.as_deref(), by] {
            codec::put_text(&mut out, text.unwrap_or(""));
        }
        codec::put_number(&mut out, self.feedback.len() as u64);
        for (outcome, ts) in &self.feedback {
            out.push(*outcome as u8);
            out.extend_from_slice(&ts.to_le_bytes());
        }
        let head = codec::encode_head(&head_of(row), self.line as i64);
        let body = codec::encode_body(row.metadata.as_deref(), &row.text, &head);
        put_bytes(&mut out, &head);
        put_bytes(&mut out, &body);
        codec::put_number(&mut out, row.vectors.len() as u64);
        for vector in &row.vectors {
            codec::put_number(&mut out, vector.slot as u64);
            put_bytes(&mut out, &codec::encode_floats(&vector.values, self.line));
        }
        out
    }

    /// `None`: these are not the bytes of one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let mut numbers = [None; NUMBERS];
        for number in &mut numbers {
            let present = input.byte()? != 0;
            let read = input.word()? as i64;
            *number = present.then_some(read);
        }
        let [line, flags, kind, turn, ts, expires, tokens, words, question, judge, model_epoch, at] = numbers;
        let (line, flags) = (line? as u64, flags?);
        let mut name = || input.text().map(|text| (!text.is_empty()).then(|| text.to_owned()));
        let (user, session, older, by) = (name()?, name()?, name()?, name()?);
        let feedback = input.list(|input| Some((Outcome::from_code(input.byte()?)?, input.word()? as i64)))?;
        let head_blob = sized(&mut input)?;
        let head = codec::decode_head(head_blob, line as i64)?;
        let body = codec::decode_body(sized(&mut input)?, head_blob)?;
        let vectors = input.list(|input| {
            let slot = usize::try_from(input.number()?).ok()?;
            Some(Vector { slot, values: codec::decode_floats(sized(input)?, line)? })
        })?;
        let row = NewMemory {
            id: head.id,
            kind: Kind::from_code(u8::try_from(kind?).ok()?)?,
            role: head.role,
            name: head.name,
            key: head.key,
            text: body.text,
            metadata: body.metadata,
            turn,
            ts: ts?,
            expires,
            tokens: u32::try_from(tokens?).ok()?,
            words: u32::try_from(words?).ok()?,
            question: u8::try_from(question?).ok()?,
            terms: head.terms,
            marks: head.marks,
            vectors,
            consolidated_from: head.consolidated_from,
            cited: Vec::new(),
            judge: Judge::from_code(u8::try_from(judge?).ok()?)?,
        };
        let superseded = if flags & 2 == 0 { None } else { Some(Superseded { by, at: at? }) };
        let cited = flags & 1 != 0;
        Some(Self { line, user, session, row, model_epoch, supersedes: older, superseded, cited, feedback })
    }
}

fn head_of(row: &NewMemory) -> HeadRef<'_> {
    HeadRef {
        id: &row.id,
        role: row.role.as_deref(),
        name: row.name.as_deref(),
        key: row.key.as_deref(),
        consolidated_from: &row.consolidated_from,
        terms: &row.terms,
        marks: &row.marks,
    }
}

fn put_optional(out: &mut Vec<u8>, number: Option<i64>) {
    out.push(u8::from(number.is_some()));
    out.extend_from_slice(&number.unwrap_or(0).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    codec::put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn sized<'a>(input: &mut Input<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(input.number()?).ok()?;
    input.take(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::{Marks, Period};

    fn staged() -> Staged {
        let row = NewMemory {
            id: "a".to_owned(),
            kind: Kind::Fact,
            role: Some("user".to_owned()),
            name: None,
            key: Some("plan".to_owned()),
            text: "annual plan".to_owned(),
            metadata: Some("{\"n\":1}".to_owned()),
            turn: None,
            ts: -5,
            expires: Some(7),
            tokens: 2,
            words: 2,
            question: 255,
            terms: vec![(u64::MAX, 3)],
            marks: Marks { names_time: true, names_proper: false, periods: vec![Period::day(-3)] },
            vectors: vec![Vector::first(vec![0.5, -1.0]), Vector { slot: 1, values: vec![2.0] }],
            consolidated_from: vec!["t".to_owned()],
            cited: Vec::new(),
            judge: Judge::Failed,
        };
        Staged {
            line: 3,
            user: None,
            session: Some("s".to_owned()),
            row,
            model_epoch: Some(-9),
            supersedes: None,
            superseded: Some(Superseded { by: None, at: i64::MIN }),
            cited: true,
            feedback: vec![(Outcome::DeadEnd, 4)],
        }
    }

    #[test]
    fn what_was_staged_comes_back_as_it_was() {
        for superseded in [None, Some(Superseded { by: Some("b".to_owned()), at: 1 }), staged().superseded] {
            let staged = Staged { superseded, ..staged() };
            assert_eq!(Staged::decode(&staged.encode()).unwrap(), staged);
        }
    }

    #[test]
    fn cut_off_bytes_are_none() {
        let bytes = staged().encode();
        assert!((0..bytes.len()).all(|length| Staged::decode(bytes.split_at(length).0).is_none()));
    }
}
