//! Words near in meaning: who asks about a pet is answered by a dog.
//!
//! A table in the package, made by `scripts/related_words.py` of the static model. Little-endian, four columns one after the
//! other, each as long as the head says: `words` (64-bit hashes of words as written, rising), `ends` (32 bits each: where a word's
//! pairs end), `terms` (64-bit hashes of terms as indexed), `pairs` (16 bits: which term; 8 bits: its weight in 1/510).
//! The head is their three lengths: words, terms, pairs, 32 bits each.

/// The table of one language.
#[derive(Debug, Clone, Copy)]
pub struct RelatedWords {
    table: &'static [u8],
}

const HEAD: usize = 12;
const WORD: usize = 8;
const END: usize = 4;
const TERM: usize = 8;
const PAIR: usize = 3;
/// The weights are 0 to 0.5.
const STEPS: f32 = 510.0;

impl RelatedWords {
    #[must_use]
    pub const fn new(table: &'static [u8]) -> Self {
        Self { table }
    }

    /// The terms related to a word, given by the hash of how it is written, each with its weight, the nearest first. The word's own
    /// term is none of them.
    pub fn of(&self, word: u64) -> impl Iterator<Item = (u64, f32)> {
        let (from, to) =
            self.find(word).map_or((0, 0), |at| (at.checked_sub(1).map_or(0, |at| self.end(at)), self.end(at)));
        (from..to).filter_map(|pair| self.pair(pair))
    }

    fn find(&self, word: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.length(0));
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.word(middle)?.cmp(&word) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Words, terms, pairs.
    fn length(&self, column: usize) -> usize {
        self.bytes(column * 4).map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn word(&self, at: usize) -> Option<u64> {
        self.bytes(HEAD + at * WORD).map(u64::from_le_bytes)
    }

    fn end(&self, at: usize) -> usize {
        let ends = HEAD + self.length(0) * WORD;
        self.bytes(ends + at * END).map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn pair(&self, at: usize) -> Option<(u64, f32)> {
        let terms = HEAD + self.length(0) * (WORD + END);
        let [low, high, weight] = self.bytes(terms + self.length(1) * TERM + at * PAIR)?;
        let term = self.bytes(terms + usize::from(u16::from_le_bytes([low, high])) * TERM)?;
        Some((u64::from_le_bytes(term), f32::from(weight) / STEPS))
    }

    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.table.get(at..at + N)?.try_into().ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::ENGLISH;
    use super::*;
    use crate::lexical::Analyzer;

    fn related(word: &str, to: &str) -> Option<f32> {
        let analyzer = Analyzer::new("english").unwrap();
        let term = analyzer.terms(to).first().unwrap().hash;
        let table = ENGLISH.related.unwrap();
        table.of(analyzer.word_hash(word)).find(|(other, _)| *other == term).map(|(_, weight)| weight)
    }

    #[test]
    fn words_near_in_meaning_are_related_in_any_form() {
        assert!(related("doctor", "physician") > Some(0.2));
        assert!(related("Doctor's", "physicians") > Some(0.2));
        assert!(related("pet", "dogs") > Some(0.0));
        assert_eq!(related("pet", "concert"), None);
    }

    #[test]
    fn a_word_is_not_related_to_its_own_forms_and_nothing_to_what_is_no_word() {
        assert_eq!(related("dog", "dogs"), None);
        let table = ENGLISH.related.unwrap();
        assert_eq!((table.of(0).count(), table.of(u64::MAX).count()), (0, 0));
    }

    #[test]
    fn the_table_is_whole_and_in_order() {
        let table = ENGLISH.related.unwrap();
        let [words, terms, pairs] = [0, 1, 2].map(|column| table.length(column));
        assert_eq!(table.table.len(), HEAD + words * (WORD + END) + terms * TERM + pairs * PAIR);
        assert_eq!(table.end(words - 1), pairs);
        assert!((1..words).all(|at| table.word(at - 1) < table.word(at) && table.end(at - 1) < table.end(at)));
        for at in 0..words {
            let found: Vec<(u64, f32)> = table.of(table.word(at).unwrap()).collect();
            assert!((1..=16).contains(&found.len()));
            assert!(found.iter().all(|(_, weight)| (0.0..=0.5).contains(weight) && *weight > 0.0));
            assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }

    #[test]
    fn an_empty_table_relates_nothing() {
        assert_eq!(RelatedWords::new(&[]).of(7).count(), 0);
    }
}
