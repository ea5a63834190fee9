//! The ids of a segment's rows, packed: what a read leaves out is told by its id, and a row of the store costs far more than that.
use super::segment::SEGMENT_ROWS;

/// What the facade's own ids begin with.
const PREFIX: &str = "mem_";
/// Crockford's base 32, five bits a digit.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Digits of a number of 128 bits.
const LENGTH: usize = 26;
/// Set where the row's bytes are the number of an id of the facade's own; else they are the id.
const IS_NUMBER: u32 = 1 << 31;

/// One id a row. The facade's own take 16 bytes, others their length, and each 4 more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids {
    bytes: Vec<u8>,
    /// Where each row's bytes end.
    ends: Vec<u32>,
}

impl Ids {
    /// With room for so many of the facade's own.
    pub fn with_room(rows: usize) -> Self {
        Self { bytes: Vec::with_capacity(rows * size_of::<u128>()), ends: Vec::with_capacity(rows) }
    }

    pub fn push(&mut self, id: &str) {
        let number = number_of(id);
        match number {
            Some(number) => self.bytes.extend_from_slice(&number.to_le_bytes()),
            None => self.bytes.extend_from_slice(id.as_bytes()),
        }
        let end = self.bytes.len() as u32;
        debug_assert!(end < IS_NUMBER, "{SEGMENT_ROWS} ids are shorter than two gigabytes");
        self.ends.push(end | if number.is_some() { IS_NUMBER } else { 0 });
    }

    /// Gives back what was taken for ids to come.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    pub fn get(&self, row: u32) -> Option<String> {
        let end = *self.ends.get(row as usize)?;
        let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before as usize).copied())?;
        let bytes = self.bytes.get((start & !IS_NUMBER) as usize..(end & !IS_NUMBER) as usize)?;
        if end & IS_NUMBER != 0 {
            return bytes.first_chunk().map(|number| written(u128::from_le_bytes(*number)));
        }
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }

    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}

/// The number that an id of the facade's own is written of, and no other text.
fn number_of(id: &str) -> Option<u128> {
    let digits = id.strip_prefix(PREFIX)?.as_bytes();
    // The first of 26 digits has three bits left.
    if digits.len() != LENGTH || !digits.first().is_some_and(|first| (b'0'..=b'7').contains(first)) {
        return None;
    }
    let mut number = 0_u128;
    for digit in digits {
        number = number << 5 | value_of(*digit)?;
    }
    Some(number)
}

fn value_of(digit: u8) -> Option<u128> {
    DIGITS.iter().position(|other| *other == digit).map(|value| value as u128)
}

fn written(number: u128) -> String {
    let mut id = String::with_capacity(PREFIX.len() + LENGTH);
    id.push_str(PREFIX);
    for place in (0..LENGTH).rev() {
        let digit = DIGITS.get((number >> (5 * place)) as usize & 31).copied().unwrap_or_default();
        id.push(char::from(digit));
    }
    id
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<u128>().prop_map(written),
            "mem_[0-9A-Za-z]{25,27}",
            "mem_[0-9A-HJKMNP-TV-Z]{26}",
            "\\PC{0,40}",
        ]
    }

    proptest! {
        #[test]
        fn ids_come_back_as_given(given in prop::collection::vec(id(), 0..20)) {
            let mut ids = Ids::default();
            for id in &given {
                ids.push(id);
            }
            for (row, id) in (0..).zip(&given) {
                prop_assert_eq!(ids.get(row), Some(id.clone()));
            }
            prop_assert_eq!(ids.get(given.len() as u32), None);
        }

        #[test]
        fn an_id_of_the_facades_own_takes_sixteen_bytes(number in any::<u128>()) {
            let mut ids = Ids::default();
            ids.push(&written(number));
            prop_assert_eq!((number_of(&written(number)), ids.bytes.len()), (Some(number), 16));
        }
    }

    #[test]
    fn a_number_above_128_bits_is_kept_as_it_is_written() {
        let mut ids = Ids::default();
        ids.push("mem_ZZZZZZZZZZZZZZZZZZZZZZZZZZ");
        ids.push("mem_7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(ids.get(0).as_deref(), Some("mem_ZZZZZZZZZZZZZZZZZZZZZZZZZZ"));
        assert_eq!(ids.get(1).as_deref(), Some("mem_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
    }
}
