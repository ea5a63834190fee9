//! The bytes of the erasable blobs; `docs/format.md` describes them. Each starts with a checksum, so that zeroing the blob leaves
//! not even a fingerprint of what was in it.
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::rows::NewMemory;
use crate::model::{Marks, Period};

/// Bytes of the checksum in front of each blob.
pub(super) const SUM: usize = 8;

const ROLE: u8 = 1;
const NAME: u8 = 2;
const KEY: u8 = 4;

const NAMES_TIME: u8 = 1;
const NAMES_PROPER: u8 = 2;

/// What of a memory's content an index needs, and its names.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct HeadBlob {
    pub id: String,
    pub role: Option<String>,
    pub name: Option<String>,
    pub key: Option<String>,
    pub consolidated_from: Vec<String>,
    pub terms: Vec<(u64, u32)>,
    pub marks: Marks,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct BodyBlob {
    pub metadata: Option<String>,
    pub text: String,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct NamesBlob {
    pub user: Option<String>,
    pub session: Option<String>,
}

/// Puts the checksum of the rest in front; `seed` ties the bytes to their row.
pub(super) fn seal(mut blob: Vec<u8>, seed: u64) -> Vec<u8> {
    if let Some((front, rest)) = blob.split_at_mut_checked(SUM) {
        front.copy_from_slice(&xxh3_64_with_seed(rest, seed).to_le_bytes());
    }
    blob
}

/// The bytes behind the checksum, if it is right.
pub(super) fn open(blob: &[u8], seed: u64) -> Option<&[u8]> {
    let (sum, rest) = blob.split_at_checked(SUM)?;
    (xxh3_64_with_seed(rest, seed).to_le_bytes() == sum).then_some(rest)
}

/// The checksum in front of a blob, as the seed of the one that belongs to it.
pub(super) fn sum_of(blob: &[u8]) -> u64 {
    blob.first_chunk().copied().map_or(0, u64::from_le_bytes)
}

/// Checksum of a row of numbers. `None` is told from every number by a bit of its own.
pub(super) fn sum_numbers<const N: usize>(numbers: &[Option<i64>; N]) -> i64 {
    let absent = numbers.iter().rev().fold(0, |bits, number| bits << 1 | u64::from(number.is_none()));
    let bytes = numbers.map(|number| number.unwrap_or(0).to_le_bytes());
    xxh3_64_with_seed(bytes.as_flattened(), absent) as i64
}

pub(super) fn encode_head(head: &HeadRef<'_>, seq: i64) -> Vec<u8> {
    let mut out = Vec::with_capacity(SUM + 64 + head.id.len() + 10 * head.terms.len());
    out.resize(SUM, 0);
    let flag = |value: Option<&str>, bit: u8| if value.is_some() { bit } else { 0 };
    out.push(flag(head.role, ROLE) | flag(head.name, NAME) | flag(head.key, KEY));
    for text in [Some(head.id), head.role, head.name, head.key].into_iter().flatten() {
        put_text(&mut out, text);
    }
    put_number(&mut out, head.consolidated_from.len() as u64);
    for id in head.consolidated_from {
        put_text(&mut out, id);
    }
    put_number(&mut out, head.terms.len() as u64);
    for (hash, count) in head.terms {
        out.extend_from_slice(&hash.to_le_bytes());
        put_number(&mut out, u64::from(*count));
    }
    put_marks(&mut out, head.marks);
    seal(out, seq as u64)
}

fn put_marks(out: &mut Vec<u8>, marks: &Marks) {
    out.push(if marks.names_time { NAMES_TIME } else { 0 } | if marks.names_proper { NAMES_PROPER } else { 0 });
    put_number(out, marks.periods.len() as u64);
    for period in &marks.periods {
        put_number(out, zigzag(period.first));
        put_number(out, u64::from(period.last.abs_diff(period.first)));
    }
}

/// Small numbers of either sign as small numbers without one.
fn zigzag(number: i32) -> u64 {
    u64::from(((number << 1) ^ (number >> 31)) as u32)
}

fn unzigzag(number: u64) -> Option<i32> {
    let number = u32::try_from(number).ok()?;
    Some((number >> 1) as i32 ^ -((number & 1) as i32))
}

/// [`HeadBlob`] borrowed from what the caller gave.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadRef<'a> {
    pub id: &'a str,
    pub role: Option<&'a str>,
    pub name: Option<&'a str>,
    pub key: Option<&'a str>,
    pub consolidated_from: &'a [String],
    pub terms: &'a [(u64, u32)],
    pub marks: &'a Marks,
}

/// The whole head.
pub(super) fn decode_head(blob: &[u8], seq: i64) -> Option<HeadBlob> {
    let mut head = HeadBlob::default();
    decode_head_into(blob, seq, &mut head)?;
    Some(head)
}

/// As [`decode_head`], in the place of another head, whose memory is used again.
pub(super) fn decode_head_into(blob: &[u8], seq: i64, head: &mut HeadBlob) -> Option<()> {
    let mut input = Input(open(blob, seq as u64)?);
    input.head_names(head)?;
    input.list_into(&mut head.terms, |input| Some((input.word()?, u32::try_from(input.number()?).ok()?)))?;
    input.marks(&mut head.marks)
}

/// The head without its terms and marks: what a whole memory shows of it. The checksum covers all of it.
pub(super) fn decode_names_of_head(blob: &[u8], seq: i64) -> Option<HeadBlob> {
    let mut head = HeadBlob::default();
    Input(open(blob, seq as u64)?).head_names(&mut head)?;
    Some(head)
}

/// The id alone.
pub(super) fn decode_id(blob: &[u8], seq: i64) -> Option<String> {
    let mut input = Input(open(blob, seq as u64)?);
    input.byte()?;
    input.text().map(str::to_owned)
}

/// Head and body of a memory's content.
pub(super) fn encode_content(new: &NewMemory, seq: i64) -> (Vec<u8>, Vec<u8>) {
    let head = HeadRef {
        id: &new.id,
        role: new.role.as_deref(),
        name: new.name.as_deref(),
        key: new.key.as_deref(),
        consolidated_from: &new.consolidated_from,
        terms: &new.terms,
        marks: &new.marks,
    };
    let head = encode_head(&head, seq);
    let body = encode_body(new.metadata.as_deref(), &new.text, &head);
    (head, body)
}

/// `head` is the sealed head blob: the body's checksum covers the head's, so that the two cannot be mixed up.
pub(super) fn encode_body(metadata: Option<&str>, text: &str, head: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(SUM + 10 + metadata.map_or(0, str::len) + text.len());
    out.resize(SUM, 0);
    put_number(&mut out, metadata.map_or(0, |json| json.len() as u64 + 1));
    out.extend_from_slice(metadata.unwrap_or("").as_bytes());
    out.extend_from_slice(text.as_bytes());
    seal(out, sum_of(head))
}

pub(super) fn decode_body(blob: &[u8], head: &[u8]) -> Option<BodyBlob> {
    let mut input = Input(open(blob, sum_of(head))?);
    let metadata = match input.number()? {
        0 => None,
        length => Some(input.utf8(usize::try_from(length - 1).ok()?)?.to_owned()),
    };
    let text = input.utf8(input.0.len())?.to_owned();
    Some(BodyBlob { metadata, text })
}

/// The plain bytes that are hashed and compared for a scope.
pub(super) fn name_bytes(user: Option<&str>, session: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + user.map_or(0, str::len) + session.map_or(0, str::len));
    for name in [user, session] {
        put_number(&mut out, name.map_or(0, |name| name.len() as u64 + 1));
        out.extend_from_slice(name.unwrap_or("").as_bytes());
    }
    out
}

pub(super) fn encode_names(user: Option<&str>, session: Option<&str>, scope: i64) -> Vec<u8> {
    let mut out = vec![0; SUM];
    out.extend_from_slice(&name_bytes(user, session));
    seal(out, scope as u64)
}

pub(super) fn decode_names(blob: &[u8], scope: i64) -> Option<NamesBlob> {
    let mut input = Input(open(blob, scope as u64)?);
    let mut name = || match input.number()? {
        0 => Some(None),
        length => Some(Some(input.utf8(usize::try_from(length - 1).ok()?)?.to_owned())),
    };
    let names = NamesBlob { user: name()?, session: name()? };
    // The head of a content of the same number has the same seed; it goes on behind what could be names.
    input.0.is_empty().then_some(names)
}

pub(super) fn encode_floats(floats: &[f32], seed: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(SUM + 4 * floats.len());
    out.resize(SUM, 0);
    out.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
    seal(out, seed)
}

pub(super) fn decode_floats(blob: &[u8], seed: u64) -> Option<Vec<f32>> {
    let mut floats = Vec::new();
    decode_floats_into(blob, seed, &mut floats)?;
    Some(floats)
}

/// In the place of other floats.
pub(super) fn decode_floats_into(blob: &[u8], seed: u64, floats: &mut Vec<f32>) -> Option<()> {
    let (bytes, rest) = open(blob, seed)?.as_chunks::<4>();
    floats.clear();
    floats.extend(bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    rest.is_empty().then_some(())
}

/// LEB128: seven bits a byte, least significant first.
pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// What is left to read. Every method answers `None` past the end.
pub(super) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn word(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().copied().map(u64::from_le_bytes)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn utf8(&mut self, length: usize) -> Option<&'a str> {
        std::str::from_utf8(self.take(length)?).ok()
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        self.utf8(length)
    }

    fn head_names(&mut self, head: &mut HeadBlob) -> Option<()> {
        let flags = self.byte()?;
        replace(&mut head.id, self.text()?);
        for (bit, name) in [(ROLE, &mut head.role), (NAME, &mut head.name), (KEY, &mut head.key)] {
            if flags & bit == 0 {
                *name = None;
            } else {
                replace(name.get_or_insert_default(), self.text()?);
            }
        }
        self.list_into(&mut head.consolidated_from, |input| Some(input.text()?.to_owned()))
    }

    fn marks(&mut self, marks: &mut Marks) -> Option<()> {
        let flags = self.byte()?;
        marks.names_time = flags & NAMES_TIME != 0;
        marks.names_proper = flags & NAMES_PROPER != 0;
        self.list_into(&mut marks.periods, |input| {
            let first = unzigzag(input.number()?)?;
            Some(Period { first, last: first.checked_add(i32::try_from(input.number()?).ok()?)? })
        })
    }

    pub(super) fn list<T>(&mut self, item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        self.list_into(&mut items, item)?;
        Some(items)
    }

    /// In the place of other items.
    fn list_into<T>(&mut self, items: &mut Vec<T>, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<()> {
        let count = usize::try_from(self.number()?).ok()?;
        items.clear();
        // No item is shorter than a byte: a damaged count cannot make us reserve more than the blob's own size.
        items.reserve(count.min(self.0.len()));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(())
    }
}

fn replace(old: &mut String, new: &str) {
    old.clear();
    old.push_str(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = String> {
        "\\PC{0,40}"
    }

    fn marks() -> impl Strategy<Value = Marks> {
        let period = (-800_000..3_000_000, 0..4_000).prop_map(|(first, days)| Period { first, last: first + days });
        let periods = proptest::collection::vec(period, 0..4);
        (any::<bool>(), any::<bool>(), periods).prop_map(|(names_time, names_proper, periods)| Marks {
            names_time,
            names_proper,
            periods,
        })
    }

    proptest! {
        #[test]
        fn head_comes_back_as_given_and_no_flipped_bit_passes(
            id in text(), role in proptest::option::of(text()), name in proptest::option::of(text()), key in proptest::option::of(text()),
            consolidated_from in proptest::collection::vec(text(), 0..4), terms in proptest::collection::vec(any::<(u64, u32)>(), 0..20),
            marks in marks(), seq in any::<i64>(), flip in any::<prop::sample::Index>(), bit in 0..8_u32,
        ) {
            let head = HeadRef { id: &id, role: role.as_deref(), name: name.as_deref(), key: key.as_deref(),
                consolidated_from: &consolidated_from, terms: &terms, marks: &marks };
            let mut blob = encode_head(&head, seq);
            let mut another = HeadBlob { role: Some("of another".to_owned()), terms: vec![(1, 1); 30], ..HeadBlob::default() };
            another.marks.periods.push(Period { first: 1, last: 2 });
            prop_assert_eq!(decode_head_into(&blob, seq, &mut another), Some(()));
            prop_assert_eq!(decode_head(&blob, seq), Some(another.clone()));
            prop_assert_eq!(another, HeadBlob { id, role, name, key, consolidated_from, terms, marks });
            prop_assert_eq!(decode_head(&blob, seq.wrapping_add(1)), None);
            let at = flip.index(blob.len());
            if let Some(byte) = blob.get_mut(at) {
                *byte ^= 1 << bit;
            }
            prop_assert_eq!(decode_head(&blob, seq), None);
        }

        #[test]
        fn body_names_and_floats_come_back_as_given(
            metadata in proptest::option::of(text()), text in text(), user in proptest::option::of(text()), session in proptest::option::of(text()),
            floats in proptest::collection::vec(-1e9_f32..1e9, 0..9),
        ) {
            let body = encode_body(metadata.as_deref(), &text, b"the head");
            prop_assert_eq!(decode_body(&body, b"the head"), Some(BodyBlob { metadata, text }));
            prop_assert_eq!(decode_body(&body, b"a head of another"), None);
            let names = encode_names(user.as_deref(), session.as_deref(), 7);
            prop_assert_eq!(decode_names(&names, 7), Some(NamesBlob { user, session }));
            prop_assert_eq!(decode_floats(&encode_floats(&floats, 3), 3), Some(floats));
        }

        #[test]
        fn any_bytes_are_refused_or_read_but_never_crash(bytes in proptest::collection::vec(any::<u8>(), 0..200), seed in any::<u64>()) {
            let sealed = seal([&[0; SUM], bytes.as_slice()].concat(), seed);
            let _ = decode_head(&sealed, seed as i64);
            let _ = decode_names(&sealed, seed as i64);
            let _ = decode_body(&sealed, &seed.to_le_bytes());
        }
    }

    #[test]
    fn no_name_differs_from_every_name() {
        assert_ne!(name_bytes(None, Some("a")), name_bytes(Some("a"), None));
        assert_ne!(name_bytes(None, None), name_bytes(None, Some("")));
        assert_ne!(name_bytes(Some("ab"), Some("c")), name_bytes(Some("a"), Some("bc")));
    }

    #[test]
    fn an_erased_blob_is_not_a_valid_one() {
        assert_eq!(decode_head(&[0; 60], 0), None);
        assert_eq!(decode_names(&[0; 10], 0), None);
    }
}
