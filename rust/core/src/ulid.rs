//! Ids that are random and ordered by time. The clock and the random bytes are the caller's.

const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"; // Crockford's base 32
const LENGTH: u32 = 26;
const BITS_A_DIGIT: u32 = 5;
const RANDOM_BITS: u32 = 80;
/// What fits beside the random bits.
const MOST_MILLISECONDS: u64 = (1 << 48) - 1;

/// 128 bits each, as text: 48 of milliseconds, 80 random. Each is above the one before.
#[derive(Debug, Default)]
pub struct Ulids {
    last: u128,
}

impl Ulids {
    /// The next one. `milliseconds` since 1970; before it counts as 1970. Of `random`, the lowest 80 bits count.
    pub fn next(&mut self, milliseconds: i64, random: u128) -> String {
        let milliseconds = u64::try_from(milliseconds).unwrap_or(0).min(MOST_MILLISECONDS);
        let random = random & ((1 << RANDOM_BITS) - 1);
        let number = u128::from(milliseconds) << RANDOM_BITS | random;
        // The same millisecond, or the clock was set back: a random step further, so that the next one is not guessed.
        let beyond = self.last.saturating_add(1 + (random & 0xFFFF_FFFF));
        self.last = if number > self.last { number } else { beyond };
        written(self.last)
    }
}

fn written(number: u128) -> String {
    let digit = |place: u32| {
        let value = (number >> (place * BITS_A_DIGIT) & 31) as usize;
        DIGITS.get(value).copied().map_or('0', char::from)
    };
    (0..LENGTH).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_and_the_smallest_are_written_as_the_specification_says() {
        assert_eq!(written(u128::MAX), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(written(0), "0".repeat(26));
        assert_eq!(Ulids::default().next(1, 0), format!("0000000001{}", "0".repeat(16)));
    }

    #[test]
    fn each_is_above_the_one_before_whatever_the_clock_does() {
        let mut ulids = Ulids::default();
        let clock = [1_000, 1_000, 999, -5, 1_000, 2_000, i64::MIN, i64::MAX, 0, i64::MAX];
        let random = [u128::MAX, 0, 7, u128::MAX, 0, 0, 1, 2, 3, 4];
        let made: Vec<_> = clock.into_iter().zip(random).map(|(at, random)| ulids.next(at, random)).collect();
        assert!(made.is_sorted_by(|before, after| before < after), "{made:?}");
        assert!(made.iter().all(|id| id.len() == 26));
    }
}
