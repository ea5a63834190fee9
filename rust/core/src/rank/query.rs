//! A query as ranking understands it: what its words say beyond their meaning, read once.
use super::language::asks::{Asks, asks};
use super::language::dates::{Sense, times};
use super::language::periods::day_of;
use super::language::talk::names_earlier_talk;
use super::language::{Language, words};
use crate::model::Period;

/// Read from the text once, before anything is ranked.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub today: i32,
    /// The days that it names, told from today.
    pub periods: Vec<Period>,
    /// It names a date, also one that no day can be told from.
    pub names_date: bool,
    /// It asks for what the assistant said, or names an earlier conversation.
    pub names_earlier_talk: bool,
    pub asks: Option<Asks>,
    /// Its words in lower case.
    words: Vec<String>,
}

impl Query {
    /// `now` in microseconds UTC. Without a language, what needs one is silent.
    #[must_use]
    pub fn read(text: &str, now: i64, language: Option<&Language>) -> Self {
        let words = words::words(text);
        let today = day_of(now);
        let times = times(text, &words, today, Sense::Asked, language);
        Self {
            today,
            periods: times.periods,
            names_date: times.names_date,
            names_earlier_talk: names_earlier_talk(&words, language),
            asks: asks(&words, language),
            words: words.into_iter().map(|word| word.lower.into_owned()).collect(),
        }
    }

    /// Whether the first word of a name stands in the query: people are called by it.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        words::words(name).first().is_some_and(|first| self.words.iter().any(|word| *word == first.lower))
    }
}
