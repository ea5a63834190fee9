//! What a language's words mean when they speak of time.
use std::collections::HashMap;

/// A span of time that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Day,
    Night,
    /// Morning, afternoon, evening.
    PartOfDay,
    Week,
    Weekend,
    Fortnight,
    Month,
    Quarter,
    Year,
    Spring,
    Summer,
    Autumn,
    Winter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// 1 to 12.
    Month(i32),
    /// A month if a sign beside it says so.
    MaybeMonth(i32),
    /// 0 is Monday.
    Weekday(i32),
    /// So many days after today.
    Day(i32),
    Last,
    This,
    Next,
    Unit(Unit),
    Number(i32),
}

/// A language's words for dates, all in lower case. Those of one meaning share an entry, separated by white space.
#[derive(Debug)]
pub struct DateWords {
    pub months: [&'static str; 12],
    /// Months that are also other words, or short for one: they need a sign beside them or a capital.
    pub maybe_months: &'static [(&'static str, i32)],
    /// Words before such a month that make it one ("in may").
    pub month_signs: &'static [&'static str],
    pub weekdays: [&'static str; 7],
    /// Days that are one word ("yesterday"), by how many days after today they are.
    pub days: &'static [(&'static str, i32)],
    /// Days of more than one word ("the day before yesterday").
    pub day_phrases: &'static [(&'static str, i32)],
    /// Words behind which a day's or weekday's word is none ("guten Morgen"): (before, word); `*` is any.
    pub not_days: &'static [(&'static str, &'static str)],
    pub last: &'static str,
    /// Before a unit, mean the days up to today ("the past week"), not the one of the calendar ("last week").
    pub rolling: &'static [&'static str],
    pub this: &'static str,
    pub next: &'static str,
    /// Whether those stand behind what they go with ("la semana pasada").
    pub behind: bool,
    pub units: &'static [(&'static str, Unit)],
    /// Units of more than one word.
    pub unit_phrases: &'static [(&'static str, Unit)],
    pub numbers: &'static [(&'static str, i32)],
    /// Behind a number and a unit ("two weeks ago"); before them ("vor zwei Wochen").
    pub ago: &'static [&'static str],
    pub since: &'static [&'static str],
    /// Before a number and a unit, make them future ("in two weeks").
    pub ahead: &'static [&'static str],
    /// Between a relative time and the date that it is told from ("the week before 16 November").
    pub before: &'static [&'static str],
    pub after: &'static [&'static str],
    /// May stand inside a date ("the 8th of May").
    pub links: &'static [&'static str],
    /// "05/08/2023" is the eighth of May.
    pub month_first: bool,
}

/// What is known of a word.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    pub meaning: Option<Meaning>,
    /// A phrase that is, or stands before, a time begins with it.
    pub begins: bool,
}

/// The words of a language by what they mean.
#[derive(Debug)]
pub struct Lexicon(HashMap<&'static str, Known>);

impl Lexicon {
    pub fn new(words: &DateWords) -> Self {
        let mut lexicon = Self(HashMap::new());
        for (month, names) in (1..).zip(words.months) {
            lexicon.add(names, Meaning::Month(month));
        }
        for (weekday, names) in (0..).zip(words.weekdays) {
            lexicon.add(names, Meaning::Weekday(weekday));
        }
        words.maybe_months.iter().for_each(|(names, month)| lexicon.add(names, Meaning::MaybeMonth(*month)));
        words.days.iter().for_each(|(names, days)| lexicon.add(names, Meaning::Day(*days)));
        words.units.iter().for_each(|(names, unit)| lexicon.add(names, Meaning::Unit(*unit)));
        words.numbers.iter().for_each(|(names, number)| lexicon.add(names, Meaning::Number(*number)));
        lexicon.add(words.last, Meaning::Last);
        lexicon.add(words.this, Meaning::This);
        lexicon.add(words.next, Meaning::Next);
        let phrases = words.day_phrases.iter().map(|(phrase, _)| *phrase);
        let phrases = phrases.chain(words.unit_phrases.iter().map(|(phrase, _)| *phrase));
        let phrases = phrases.chain([words.rolling, words.since, words.ahead].into_iter().flatten().copied());
        for first in phrases.filter_map(|phrase| phrase.split(' ').next()) {
            lexicon.0.entry(first).or_default().begins = true;
        }
        lexicon
    }

    fn add(&mut self, names: &'static str, meaning: Meaning) {
        for name in names.split_whitespace() {
            self.0.entry(name).or_default().meaning = Some(meaning);
        }
    }

    pub fn known(&self, word: &str) -> Known {
        self.0.get(word).copied().unwrap_or_default()
    }

    pub fn get(&self, word: &str) -> Option<Meaning> {
        self.known(word).meaning
    }
}
