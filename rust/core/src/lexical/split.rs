//! Where the pieces of a text are, before language comes in.
//!
//! A run of non-white-space is cut at brackets, quotes and the like into candidates, which may hold connectors such as `.`,
//! `/`, `-`, `@`. A candidate with a connector is an identifier: it is a piece as a whole, so are its segments between hard
//! connectors (`example.com` in `me@example.com`), and its atoms. Words beyond ASCII are found by UAX 29.
use unicode_segmentation::UnicodeSegmentation;

use super::script::{continues, is_apostrophe, is_emoji_modifier, is_gram, is_symbol, is_word};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier with its connectors, never stemmed.
    Whole,
    /// A word of a script with spaces, or a number.
    Word,
    /// A run of a script without spaces.
    Grams,
    /// An emoji or another sign.
    Symbol,
}

/// Gives each piece with its byte span, in the order of their first bytes but for a whole before its parts.
pub(super) fn split(text: &str, emit: &mut impl FnMut(Kind, &str, usize)) {
    for chunk in text.split(char::is_whitespace).filter(|chunk| !chunk.is_empty()) {
        let start = offset(text, chunk);
        if let Some(word) = plain_word(chunk) {
            emit(Kind::Word, word, start);
        } else if chunk.bytes().all(|byte| byte.is_ascii_punctuation()) {
            emit_lone_signs(chunk, start, emit);
        } else {
            Splitter { text, emit }.chunk(chunk);
        }
    }
}

/// `word`, `Word`, `word42`, also before what punctuates: most of all text, and nothing to be cut.
fn plain_word(chunk: &str) -> Option<&str> {
    let word = chunk.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    let (first, rest) = word.as_bytes().split_first()?;
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (first.is_ascii_alphanumeric() && rest.iter().all(is_plain)).then_some(word)
}

/// How many words a text has by UAX 29: those that hold a letter or a digit.
#[must_use]
pub fn word_count(text: &str) -> usize {
    let count = |chunk| if plain_word(chunk).is_some() { 1 } else { chunk.unicode_words().count() };
    text.split_ascii_whitespace().map(count).sum()
}

/// `*`, `->`, `==`: a piece as they stand, unless they only punctuate.
fn emit_lone_signs(chunk: &str, start: usize, emit: &mut impl FnMut(Kind, &str, usize)) {
    let punctuates = |byte| b".,;:!?'\"-()[]{}|`_".contains(&byte);
    if !chunk.bytes().all(punctuates) {
        emit(Kind::Symbol, chunk, start);
    }
}

struct Splitter<'a, F> {
    text: &'a str,
    emit: &'a mut F,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Connector,
    Symbol,
    Break,
}

impl<'a, F: FnMut(Kind, &str, usize)> Splitter<'a, F> {
    fn emit(&mut self, kind: Kind, piece: &str) {
        (self.emit)(kind, piece, offset(self.text, piece));
    }

    fn chunk(&mut self, chunk: &'a str) {
        let mut open: Option<usize> = None;
        let mut done = 0;
        for (at, c) in chunk.char_indices() {
            if at < done {
                continue;
            }
            let class = classify(chunk, at, c, open.is_some());
            if matches!(class, Class::Word | Class::Connector) {
                open.get_or_insert(at);
                continue;
            }
            if let Some(start) = open.take() {
                self.candidate(slice(chunk, start, at));
            }
            if class == Class::Symbol {
                done = at + self.symbol(slice(chunk, at, chunk.len()));
            }
        }
        if let Some(start) = open {
            self.candidate(slice(chunk, start, chunk.len()));
        }
    }

    /// An emoji with its joiners and modifiers, and each emoji it is made of. Gives the length of it all.
    fn symbol(&mut self, rest: &'a str) -> usize {
        let whole = rest.graphemes(true).next().unwrap_or(rest);
        self.emit(Kind::Symbol, whole);
        let is_part = |c: char| is_symbol(c) && !is_emoji_modifier(c);
        if whole.chars().filter(|c| !continues(*c)).count() > 1 {
            for part in whole.split_inclusive(|_: char| true).filter(|part| part.chars().all(is_part)) {
                self.emit(Kind::Symbol, part);
            }
        }
        whole.len()
    }

    fn candidate(&mut self, candidate: &'a str) {
        let whole = trim(candidate);
        if !whole.contains(is_connector) {
            return self.atom(whole);
        }
        self.emit(Kind::Whole, whole);
        for segment in whole.split(is_hard_connector).map(trim).filter(|segment| !segment.is_empty()) {
            if segment.len() < whole.len() && segment.contains(is_connector) {
                self.emit(Kind::Whole, segment);
            }
            segment.split(is_connector).for_each(|atom| self.atom(atom));
        }
    }

    fn atom(&mut self, atom: &'a str) {
        let atom = atom.trim_matches(is_apostrophe);
        if atom.is_empty() {
        } else if atom.is_ascii() {
            self.emit(Kind::Word, atom);
            self.camel_parts(atom);
        } else {
            self.scripts(atom);
        }
    }

    /// `getUserName` is also `get`, `User` and `Name`; `HTTPServer` also `HTTP` and `Server`.
    fn camel_parts(&mut self, atom: &'a str) {
        let mut start = 0;
        for (at, window) in (1..).zip(atom.as_bytes().windows(2)) {
            let next_is_lower = atom.as_bytes().get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let border = match window {
                [before, here] if here.is_ascii_uppercase() => {
                    before.is_ascii_lowercase() || (before.is_ascii_uppercase() && next_is_lower)
                }
                _ => false,
            };
            if border {
                self.emit(Kind::Word, slice(atom, start, at));
                start = at;
            }
        }
        if start > 0 {
            self.emit(Kind::Word, slice(atom, start, atom.len()));
        }
    }

    /// Cuts at the borders of scripts without spaces; the rest are words by UAX 29.
    fn scripts(&mut self, atom: &'a str) {
        let mut start = 0;
        let mut grams = atom.chars().next().is_some_and(is_gram);
        for (at, c) in atom.char_indices() {
            if is_gram(c) != grams && !continues(c) {
                self.run(slice(atom, start, at), grams);
                (start, grams) = (at, !grams);
            }
        }
        self.run(slice(atom, start, atom.len()), grams);
    }

    fn run(&mut self, run: &'a str, grams: bool) {
        if grams {
            self.emit(Kind::Grams, run);
        } else {
            run.unicode_words().for_each(|word| self.emit(Kind::Word, word));
        }
    }
}

fn classify(chunk: &str, at: usize, c: char, open: bool) -> Class {
    match c {
        _ if c.is_ascii_alphanumeric() => Class::Word,
        '.' | '-' if is_doubled(chunk, at, c) => Class::Break,
        _ if is_connector(c) => Class::Connector,
        _ if is_apostrophe(c) => Class::Connector,
        ',' if groups_thousands(chunk, at) => Class::Word,
        _ if c.is_ascii() => Class::Break,
        _ if is_word(c) => Class::Word,
        _ if is_symbol(c) => Class::Symbol,
        _ if open && continues(c) => Class::Word,
        _ => Class::Break,
    }
}

/// `wait...what`, `well--yes`: these part sentences, not identifiers.
fn is_doubled(chunk: &str, at: usize, c: char) -> bool {
    let byte = Some(&(c as u8));
    let bytes = chunk.as_bytes();
    bytes.get(at + 1) == byte || (at > 0 && bytes.get(at - 1) == byte)
}

/// The comma of `1,000`: a digit before it and exactly three after.
fn groups_thousands(chunk: &str, at: usize) -> bool {
    let is_digit = |at: usize| chunk.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    at > 0 && (at - 1..=at + 3).filter(|i| *i != at).all(is_digit) && !is_digit(at + 4)
}

fn is_connector(c: char) -> bool {
    matches!(c, '.' | '-' | '_' | '+' | '#' | '%') || is_hard_connector(c)
}

/// Parts things that have names of their own.
fn is_hard_connector(c: char) -> bool {
    matches!(c, '/' | '\\' | ':' | '@' | '?' | '&' | '=' | '~' | '$')
}

/// Without what punctuates at its ends: `.NET` keeps its dot and `C++` its signs, `(see a.rs.` loses its full stop.
fn trim(candidate: &str) -> &str {
    let trails = |c| (is_connector(c) && !matches!(c, '+' | '#' | '%')) || is_apostrophe(c);
    let mut kept = candidate.trim_end_matches(trails);
    let Some(first_word) = kept.find(|c| !is_connector(c) && !is_apostrophe(c)) else { return "" };
    if let Some((lead, c)) = slice(kept, 0, first_word).char_indices().next_back() {
        let from = if matches!(c, '.' | '#' | '@' | '$' | '/') { lead } else { first_word };
        kept = slice(kept, from, kept.len());
    }
    kept
}

fn slice(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

/// Where `part`, a slice of `text`, begins.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn a_plain_word_is_the_only_piece_of_its_chunk(chunk in "[a-zA-Z0-9]{0,4}[a-z0-9A-Z.,;:!?'-]{1,5}[.,;:!?]{0,3}") {
            let mut pieces = Vec::new();
            Splitter { text: &chunk, emit: &mut |kind, piece: &str, start| pieces.push((kind, piece.to_owned(), start)) }
                .chunk(&chunk);
            if let Some(word) = plain_word(&chunk) {
                prop_assert_eq!(pieces, [(Kind::Word, word.to_owned(), 0)]);
            }
        }

        #[test]
        fn words_are_counted_by_uax_29(
            text in "([a-zA-Z0-9_'.,:; \n\t-]|[é一ひ가ก😀א🇫🇷]|[\u{301}\u{200d}\u{ad}\u{a0}\u{202f}\u{2028}\u{b}\u{85}]){0,12}",
            any in "\\PC{0,20}",
        ) {
            prop_assert_eq!(word_count(&text), text.unicode_words().count());
            prop_assert_eq!(word_count(&any), any.unicode_words().count());
        }
    }
}
