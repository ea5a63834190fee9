//! Does a query name a date? In its simplest form: it may only open a door, so a miss costs more than a false alarm.
use super::Language;
use super::words::{Word, words};

/// A language's words for dates.
#[derive(Debug)]
pub struct DateWords {
    pub months: &'static [&'static str],
    /// Months that are also other words, or short for one: they need a sign beside them or a capital.
    pub doubtful_months: &'static [&'static str],
    /// Words before a doubtful month that make it one ("in may").
    pub month_signs: &'static [&'static str],
    pub weekdays: &'static [&'static str],
    /// Days that are one word ("yesterday").
    pub days: &'static [&'static str],
    /// Words before a span that make it a date ("last" week).
    pub near: &'static [&'static str],
    /// Spans of time that `near` and `ago` go with.
    pub spans: &'static [&'static str],
    /// Words after a span ("two weeks ago").
    pub ago: &'static [&'static str],
}

/// Whether the query names a day, month, year, weekday or relative time.
#[must_use]
pub fn names_a_date(text: &str, language: Option<&Language>) -> bool {
    has_date_in_digits(text) || language.is_some_and(|language| names_in_words(&words(text), &language.dates))
}

fn names_in_words(words: &[Word], dates: &DateWords) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        word.is_one_of(dates.months)
            || word.is_one_of(dates.weekdays)
            || word.is_one_of(dates.days)
            || word.is_one_of(dates.doubtful_months) && is_month(word, before, words.get(at + 1), dates)
            || word.is_one_of(dates.spans) && before.is_some_and(|before| before.is_one_of(dates.near))
            || word.is_one_of(dates.ago) && before.is_some_and(|before| before.is_one_of(dates.spans))
    })
}

fn is_month(word: &Word, before: Option<&Word>, after: Option<&Word>, dates: &DateWords) -> bool {
    word.is_proper
        || before.is_some_and(|before| before.is_number() || before.is_one_of(dates.month_signs))
        || after.is_some_and(Word::is_number)
}

/// ISO dates and times, dates with slashes or dots, year and month, a year by itself: the same in all languages.
fn has_date_in_digits(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/' | '.' | '$' | '%');
    text.split(|c| !is_part(c)).any(|token| {
        let token = token.trim_end_matches(['.', '-', '/']);
        is_date(token.split_once('T').map_or(token, |(date, _time)| date))
    })
}

fn is_date(token: &str) -> bool {
    let mut parts = token.split(['-', '/', '.']);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(year), None, None, None) => is_year(year),
        (Some(year), Some(other), None, None) => {
            !token.contains('.') && is_year(year) && (is_year(other) || is_within(other, 12))
        }
        (Some(a), Some(b), Some(c), None) => is_year(a) && is_day(b, c) || is_year(c) && is_day(a, b),
        _ => false,
    }
}

/// A day and a month in either order.
fn is_day(a: &str, b: &str) -> bool {
    is_within(a, 12) && is_within(b, 31) || is_within(a, 31) && is_within(b, 12)
}

fn is_within(part: &str, most: u32) -> bool {
    let number = if part.len() <= 2 && is_digits(part) { part.parse().ok() } else { None };
    number.is_some_and(|number: u32| (1..=most).contains(&number))
}

fn is_year(part: &str) -> bool {
    part.len() == 4 && is_digits(part) && (part.starts_with("19") || part.starts_with("20"))
}

fn is_digits(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::ENGLISH;
    use super::*;

    fn names(text: &str) -> bool {
        names_a_date(text, Some(&ENGLISH))
    }

    #[test]
    fn dates_in_words_are_named() {
        for text in [
            "What did we plan for January?",
            "what happened on monday",
            "who came yesterday",
            "Where was I last week?",
            "the meeting two weeks ago",
            "a year ago",
            "What did Anna do in May?",
            "what did anna do in may",
            "on 3rd march",
            "March 5",
            "who left last March",
            "how was the party on Friday night",
            "what did I eat this morning",
            "the trip of the previous summer",
        ] {
            assert!(names(text), "{text}");
        }
    }

    #[test]
    fn verbs_are_no_months() {
        for text in [
            "May I come in?",
            "what may be wrong with it",
            "this may be it",
            "MAY WE COME",
            "how do soldiers march",
            "March on!",
            "who will last longer",
            "what is my weekly budget",
            "how long is a year",
            "I second that, 3 times",
        ] {
            assert!(!names(text), "{text}");
        }
    }

    #[test]
    fn dates_in_digits_need_no_language() {
        for text in
            ["2023-05-08", "am 2023-05-08T10:00:00Z?", "8.5.2023.", "05/28/2023", "2023-05", "wer kam 1998?", "2023年"]
        {
            assert!(names_a_date(text, None), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_no_dates() {
        for text in [
            "",
            "12345",
            "1850",
            "2023.75",
            "$2000",
            "ORD-2023-11",
            "v1.2.3",
            "2023-13",
            "99/99/2023",
            "3-4",
            "x2023",
            "20%",
        ] {
            assert!(!names_a_date(text, None), "{text}");
        }
    }

    #[test]
    fn without_a_language_words_say_nothing() {
        assert!(!names_a_date("yesterday", None));
    }
}
