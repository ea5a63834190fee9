//! What ranking needs to know of a memory's own words, told once, when it is stored.
use super::Language;
use super::asks::Asks;
use super::dates::{Sense, times};
use super::lexicon::Meaning;
use super::periods::day_of;
use super::words::{Word, words};
use crate::model::Marks;

/// The marks of a text that was said at `ts_us`.
#[must_use]
pub fn marks(text: &str, ts_us: i64, language: Option<&Language>) -> Marks {
    let words = words(text);
    let times = times(text, &words, day_of(ts_us), Sense::Said, language);
    let names_proper = language.is_some_and(|language| names_proper(&words, language));
    Marks { names_time: times.names_time, names_proper, periods: times.periods }
}

/// Whether a text has what a question of this kind asks for: a time, a name, a number of more than one or in digits.
#[must_use]
pub fn holds(asks: Asks, text: &str, language: Option<&Language>) -> bool {
    let words = words(text);
    match asks {
        Asks::Time => times(text, &words, 0, Sense::Said, language).names_time,
        Asks::Name => language.is_some_and(|language| names_proper(&words, language)),
        Asks::Number => words.iter().any(|word| is_number(word, language)),
        Asks::Other => false,
    }
}

fn is_number(word: &Word, language: Option<&Language>) -> bool {
    let meaning = language.and_then(|language| language.lexicon.get(&word.lower));
    word.lower.starts_with(|c: char| c.is_ascii_digit()) || matches!(meaning, Some(Meaning::Number(2..)))
}

/// Whether a word is a name: a capital inside a sentence that nothing else explains. Where all nouns have one, a word is a name
/// behind a sign of one ("in Berlin", "Frau Schmidt") or beside another capital.
fn names_proper(words: &[Word], language: &Language) -> bool {
    let is_name = |word: &Word| {
        word.is_proper && !language.lexicon.is_calendar(&word.lower) && !word.is_one_of(language.capitals)
    };
    let Some(signs) = language.name_signs else { return words.iter().any(is_name) };
    words.windows(2).any(|pair| {
        let [before, word] = pair else { return false };
        is_name(word) && (before.is_one_of(signs) || is_name(before))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{ENGLISH, GERMAN};
    use super::*;

    #[test]
    fn what_a_question_asks_for_is_a_time_a_name_or_a_number() {
        let held = |text: &str| {
            [Asks::Time, Asks::Name, Asks::Number, Asks::Other].map(|asks| holds(asks, text, Some(&ENGLISH)))
        };
        assert_eq!(held("We met yesterday"), [true, false, false, false]);
        assert_eq!(held("I met Ann"), [false, true, false, false]);
        assert_eq!(held("There were three of us"), [false, false, true, false]);
        assert_eq!(held("It cost 30 in a shop"), [false, false, true, false]);
        assert_eq!(held("An apple and one pear"), [false; 4]);
        assert!(holds(Asks::Number, "30 Stück", None) && !holds(Asks::Number, "drei", None));
    }

    #[test]
    fn names_are_capitals_inside_a_sentence() {
        let names = |text: &str| marks(text, 0, Some(&ENGLISH)).names_proper;
        assert!(names("we went to Lisbon"));
        assert!(names("yes, Anna did"));
        assert!(!names("Yes. I think I'm right"));
        assert!(!names("it was on Monday in May"));
        assert!(!names("GOOD GRIEF"));
    }

    #[test]
    fn german_nouns_are_no_names() {
        let names = |text: &str| marks(text, 0, Some(&GERMAN)).names_proper;
        assert!(names("wir waren in Lissabon"));
        assert!(names("das hat Anna Schmidt gesagt"));
        assert!(!names("wir haben den Hund und die Katze gefüttert"));
    }

    #[test]
    fn without_a_language_dates_in_digits_count() {
        let found = marks("am 2023-05-08", 0, None);
        assert!(found.names_time && !found.names_proper && found.periods.len() == 1);
    }
}
