//! From text to terms: the same function for what is stored and for queries. Text is never syntax.
use std::collections::HashSet;
use std::fmt;
use std::hash::BuildHasherDefault;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

use super::fold::{fold, strip_clitics};
use super::postings::TermIsHash;
use super::script::is_ignorable;
use super::split::{Kind, split};
use super::stopwords;
use crate::error::{Error, Result};

/// Longer words are no words of a language; some stemmers take quadratic time.
const LONGEST_STEMMED_BYTES: usize = 64;

const LANGUAGES: [(&str, Option<Algorithm>); 19] = [
    ("arabic", Some(Algorithm::Arabic)),
    ("danish", Some(Algorithm::Danish)),
    ("dutch", Some(Algorithm::Dutch)),
    ("english", Some(Algorithm::English)),
    ("finnish", Some(Algorithm::Finnish)),
    ("french", Some(Algorithm::French)),
    ("german", Some(Algorithm::German)),
    ("greek", Some(Algorithm::Greek)),
    ("hungarian", Some(Algorithm::Hungarian)),
    ("italian", Some(Algorithm::Italian)),
    ("none", None),
    ("norwegian", Some(Algorithm::Norwegian)),
    ("portuguese", Some(Algorithm::Portuguese)),
    ("romanian", Some(Algorithm::Romanian)),
    ("russian", Some(Algorithm::Russian)),
    ("spanish", Some(Algorithm::Spanish)),
    ("swedish", Some(Algorithm::Swedish)),
    ("tamil", Some(Algorithm::Tamil)),
    ("turkish", Some(Algorithm::Turkish)),
];

/// One occurrence of a term: its hash and its byte span in the text that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    pub hash: u64,
    pub start: usize,
    pub end: usize,
}

/// What is stored for a term: XXH3, 64 bits, seed 0, of its UTF-8. Frozen.
#[must_use]
pub fn term_hash(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

/// The analysis of one language. Immutable, so one serves all threads.
pub struct Analyzer {
    language: &'static str,
    stemmer: Option<Stemmer>,
    stop_words: HashSet<u64, BuildHasherDefault<TermIsHash>>,
}

impl Analyzer {
    /// `language`: a Snowball language by its English name in lower case, or `none`: neither stemming nor stop words.
    /// Errors: `InvalidInput` for any other.
    pub fn new(language: &str) -> Result<Self> {
        let Some((language, algorithm)) = LANGUAGES.iter().find(|(name, _)| *name == language) else {
            let known = LANGUAGES.map(|(name, _)| name).join(", ");
            return Err(Error::invalid(format!("unknown language {language:?}; expected one of {known}")));
        };
        let mut analyzer = Self { language, stemmer: algorithm.map(Stemmer::create), stop_words: HashSet::default() };
        let mut buffer = String::new();
        for word in stopwords::words(language) {
            fold(word, analyzer.is_turkish(), &mut buffer);
            analyzer.stop_words.insert(term_hash(&buffer));
        }
        Ok(analyzer)
    }

    #[must_use]
    pub fn language(&self) -> &str {
        self.language
    }

    /// The terms of a text in the order of occurrence, repeated ones repeated. An identifier comes first as a whole, then
    /// in parts, so spans may overlap. Scripts without spaces give each character and each pair of neighbours.
    /// A text of stop words only has no terms: the lexical signal is silent then, and the others decide.
    #[must_use]
    pub fn terms(&self, text: &str) -> Vec<Term> {
        self.collect(text, true)
    }

    /// As [`Self::terms`], without the single characters of longer runs of scripts without spaces: their pairs say more.
    /// All of these are in the index. For queries.
    #[must_use]
    pub fn query_terms(&self, text: &str) -> Vec<Term> {
        self.collect(text, false)
    }

    /// How often each term occurs, by rising hash: what is stored with a memory.
    #[must_use]
    pub fn counts(&self, text: &str) -> Vec<(u64, u32)> {
        let mut hashes = Vec::with_capacity(text.len() / 8);
        self.each(text, true, &mut |term, _, _| hashes.push(term_hash(term)));
        hashes.sort_unstable();
        let mut counts: Vec<(u64, u32)> = Vec::with_capacity(hashes.len());
        for hash in hashes {
            match counts.last_mut() {
                Some((last, count)) if *last == hash => *count = count.saturating_add(1),
                _ => counts.push((hash, 1)),
            }
        }
        counts
    }

    /// The word as it is written, whatever its case and clitic: not its stem.
    #[must_use]
    pub fn word_hash(&self, word: &str) -> u64 {
        let mut buffer = String::new();
        fold(strip_clitics(word, self.language), self.is_turkish(), &mut buffer);
        term_hash(&buffer)
    }

    /// The terms of [`Self::terms`] as they are hashed, to explain a result.
    #[must_use]
    pub fn strings(&self, text: &str) -> Vec<String> {
        let mut strings = Vec::new();
        self.each(text, true, &mut |term, _, _| strings.push(term.to_owned()));
        strings
    }

    /// Whether the word is left out of the index, in any case, with or without a clitic (`it's`).
    #[must_use]
    pub fn is_stop(&self, word: &str) -> bool {
        self.stop_words.contains(&self.word_hash(word))
    }

    fn is_turkish(&self) -> bool {
        self.language == "turkish"
    }

    fn collect(&self, text: &str, single_grams: bool) -> Vec<Term> {
        let mut terms = Vec::with_capacity(text.len() / 8);
        self.each(text, single_grams, &mut |term, start, end| terms.push(Term { hash: term_hash(term), start, end }));
        terms
    }

    fn each(&self, text: &str, single_grams: bool, emit: &mut impl FnMut(&str, usize, usize)) {
        let mut buffer = String::new();
        split(text, &mut |kind, piece, start| match kind {
            Kind::Word => self.word(piece, start, &mut buffer, emit),
            Kind::Grams => grams(piece, start, single_grams, &mut buffer, emit),
            Kind::Whole | Kind::Symbol => {
                fold(piece, self.is_turkish(), &mut buffer);
                if !buffer.is_empty() {
                    emit(&buffer, start, start + piece.len());
                }
            }
        });
    }

    fn word(&self, word: &str, start: usize, buffer: &mut String, emit: &mut impl FnMut(&str, usize, usize)) {
        let end = start + word.len();
        fold(strip_clitics(word, self.language), self.is_turkish(), buffer);
        if buffer.is_empty() || self.stop_words.contains(&term_hash(buffer)) {
            return;
        }
        match &self.stemmer {
            Some(stemmer) if is_stemmable(buffer) => emit(&stemmer.stem(buffer), start, end),
            _ => emit(buffer, start, end),
        }
    }
}

impl fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyzer").field("language", &self.language).finish_non_exhaustive()
    }
}

fn is_stemmable(word: &str) -> bool {
    word.len() <= LONGEST_STEMMED_BYTES && !word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Each character (where asked for, or where there is only one) and each pair of neighbours.
fn grams(run: &str, start: usize, singles: bool, buffer: &mut String, emit: &mut impl FnMut(&str, usize, usize)) {
    let characters = normalized_characters(run);
    let singles = singles || characters.len() == 1;
    for (at, (first, from, to)) in characters.iter().enumerate() {
        buffer.clear();
        buffer.push(*first);
        if singles {
            emit(buffer, start + from, start + to);
        }
        if let Some((second, _, to)) = characters.get(at + 1) {
            buffer.push(*second);
            emit(buffer, start + from, start + to);
        }
    }
}

/// NFKC, each character with the byte span it came from; where NFKC changes something, that of its grapheme.
fn normalized_characters(run: &str) -> Vec<(char, usize, usize)> {
    let mut characters = Vec::with_capacity(run.len() / 3);
    if is_nfkc_quick(run.chars()) == IsNormalized::Yes {
        characters.extend(run.char_indices().map(|(at, c)| (c, at, at + c.len_utf8())));
    } else {
        for (at, grapheme) in run.grapheme_indices(true) {
            characters.extend(grapheme.nfkc().map(|c| (c, at, at + grapheme.len())));
        }
    }
    characters.retain(|(c, _, _)| !is_ignorable(*c));
    characters
}
