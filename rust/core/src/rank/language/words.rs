//! A text cut into words.
use std::borrow::Cow;

/// A run of letters and digits; apostrophes and hyphens separate ("you've" is "you", "ve").
#[derive(Debug)]
pub struct Word<'a> {
    pub lower: Cow<'a, str>,
    /// Its first letter is a capital that no sentence start and no all-capitals text explains.
    pub is_proper: bool,
    /// It begins a sentence, or stands behind a comma or a colon.
    pub starts_clause: bool,
    /// In bytes.
    pub start: usize,
    pub end: usize,
}

impl Word<'_> {
    pub fn is_one_of(&self, list: &[&str]) -> bool {
        list.contains(&&*self.lower)
    }

    /// A day or a year in digits, also as "3rd".
    pub fn number(&self) -> Option<i32> {
        let digits = self.lower.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let ending = self.lower.get(digits.len()..).unwrap_or_default();
        let is_ordinal = matches!(ending, "" | "st" | "nd" | "rd" | "th");
        let is_short = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_ordinal && is_short { digits.parse().ok() } else { None }
    }
}

pub fn words(text: &str) -> Vec<Word<'_>> {
    let shouted = !text.chars().any(char::is_lowercase);
    let mut found = Vec::new();
    let mut is_first = true;
    for (before, word, start) in runs(text) {
        is_first |= before.contains(['.', '!', '?', '\n', '¿', '¡']);
        let capital = word.starts_with(char::is_uppercase);
        let lower = if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            Cow::Borrowed(word)
        } else {
            Cow::Owned(word.to_lowercase())
        };
        let is_proper = capital && !is_first && !shouted;
        let starts_clause = is_first || before.contains([',', ';', ':']);
        found.push(Word { lower, is_proper, starts_clause, start, end: start + word.len() });
        is_first = false;
    }
    found
}

/// Whether the words from here on are those of the phrase; the number of its words.
pub fn phrase(from: &[Word], phrase: &str) -> Option<usize> {
    // Most phrases begin with another word: no need to cut those.
    if !phrase.starts_with(&*from.first()?.lower) {
        return None;
    }
    let mut parts = 0;
    for part in phrase.split(' ') {
        if from.get(parts)?.lower != part {
            return None;
        }
        parts += 1;
    }
    Some(parts)
}

/// Each word with what stands between it and the word before, and where it starts.
fn runs(text: &str) -> impl Iterator<Item = (&str, &str, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let rest = text.get(done..)?;
        let (before, from_word) = rest.split_at(rest.find(char::is_alphanumeric)?);
        let end = word_end(from_word);
        let word = from_word.get(..end)?;
        let start = done + before.len();
        done = start + end;
        Some((before, word, start))
    })
}

/// Where the letters and digits end that a text begins with.
fn word_end(text: &str) -> usize {
    let ascii = text.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    match text.get(ascii..) {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii()) => {
            rest.find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |more| ascii + more)
        }
        _ => ascii,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_ends_before_what_is_neither_letter_nor_digit(text in "[a-z0-9é一😀 .-]{0,9}") {
            prop_assert_eq!(word_end(&text), text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len()));
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let text = "You've said 3rd-rate, größer!";
        let found = words(text);
        let lower: Vec<&str> = found.iter().map(|word| &*word.lower).collect();
        assert_eq!(lower, ["you", "ve", "said", "3rd", "rate", "größer"]);
        assert!(
            found.iter().all(|word| text.get(word.start..word.end).is_some_and(|w| w.to_lowercase() == word.lower))
        );
    }

    #[test]
    fn a_capital_counts_inside_a_sentence() {
        let proper = |text: &str| words(text).iter().map(|word| word.is_proper).collect::<Vec<_>>();
        assert_eq!(proper("May I, in May? May"), [false, true, false, true, false]);
        assert_eq!(proper("WHO MAY"), [false, false]);
    }

    #[test]
    fn numbers_may_be_ordinal() {
        let numbers = |text: &str| words(text).iter().map(Word::number).collect::<Vec<_>>();
        assert_eq!(numbers("3 3rd 2023 third th a3 12345"), [Some(3), Some(3), Some(2023), None, None, None, None]);
    }

    #[test]
    fn a_phrase_is_all_of_its_words() {
        let found = words("How long ago was it");
        assert_eq!(phrase(&found, "how long ago"), Some(3));
        assert_eq!(phrase(&found, "how long was"), None);
        assert_eq!(phrase(&found, "how long ago was it then"), None);
    }
}
