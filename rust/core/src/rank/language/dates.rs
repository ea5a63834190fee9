//! Which days a text speaks of, told from the day on which it was said or asked.
use super::Language;
use super::digits::{self, year_number};
use super::lexicon::{DateWords, Known, Lexicon, Meaning, Unit};
use super::periods::{date, month, weekday, year_and_month};
use super::relative::{self, Direction, closest_weekday};
use super::words::{Word, phrase};
use crate::model::Period;

/// The most periods that are kept of one text.
const MOST: usize = 64;
/// The most words that a date has between its parts.
const LINKS: usize = 2;

/// How a date without its year is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// The closest one.
    Said,
    /// The last one and the coming one: a question may be about what was or what is planned.
    Asked,
}

/// The times of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// Rising, without repetition.
    pub periods: Vec<Period>,
    /// It names a date, also one that cannot be told from it alone ("how many days ago").
    pub names_date: bool,
    /// It names a date or a span of time ("for three weeks").
    pub names_time: bool,
}

/// Without a language, only dates in digits are seen.
#[must_use]
pub fn times(text: &str, words: &[Word], today: i32, sense: Sense, language: Option<&Language>) -> Times {
    let month_first = language.is_some_and(|language| language.dates.month_first);
    let in_digits: Vec<(usize, Period)> = digits::dates(text, month_first).collect();
    let mut times = Times::default();
    let mut read = Vec::new();
    if let Some(language) = language {
        let known = words.iter().map(|word| language.lexicon.known(&word.lower)).collect();
        let reader = Reader { words, known, dates: &language.dates, in_digits: &in_digits, today, sense };
        read = reader.read(&mut times.periods);
        (times.names_date, times.names_time) = (reader.counts_back(), reader.counts_time());
    }
    let is_read = |start: usize| {
        let after = read.partition_point(|(from, _)| *from <= start);
        after.checked_sub(1).and_then(|at| read.get(at)).is_some_and(|(_, to)| start < *to)
    };
    times.periods.extend(in_digits.iter().filter(|(start, _)| !is_read(*start)).map(|(_, period)| *period));
    times.periods.sort_unstable();
    times.periods.dedup();
    times.periods.truncate(MOST);
    times.names_date |= !times.periods.is_empty();
    times.names_time |= times.names_date;
    times
}

struct Reader<'a> {
    words: &'a [Word<'a>],
    known: Vec<Known>,
    dates: &'a DateWords,
    in_digits: &'a [(usize, Period)],
    today: i32,
    sense: Sense,
}

/// What was understood, and the word behind it.
type Found<T> = Option<(T, usize)>;

/// A date of the calendar as it was written.
#[derive(Debug, Clone, Copy)]
struct Written {
    year: Option<i32>,
    month: i32,
    day: Option<i32>,
}

impl Reader<'_> {
    /// Adds the periods of all dates; returns the bytes that were read.
    fn read(&self, periods: &mut Vec<Period>) -> Vec<(usize, usize)> {
        let mut read = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let found = if self.may_begin(at) { self.date_at(at) } else { None };
            let Some((found, end)) = found else {
                at += 1;
                continue;
            };
            periods.extend(found);
            if let (Some(first), Some(last)) = (self.words.get(at), self.words.get(end - 1)) {
                read.push((first.start, last.end));
            }
            at = end;
        }
        read
    }

    /// Whether a unit stands before "ago".
    fn counts_back(&self) -> bool {
        self.units().any(|at| self.phrase_of(at + 1, self.dates.ago).is_some())
    }

    /// Whether a number stands before a unit.
    fn counts_time(&self) -> bool {
        self.units().any(|at| at.checked_sub(1).is_some_and(|before| self.number(before).is_some()))
    }

    fn units(&self) -> impl Iterator<Item = usize> {
        (0..self.words.len()).filter(|at| matches!(self.meaning(*at), Some(Meaning::Unit(_))))
    }

    /// Most words begin no date: those that mean nothing, are no number and begin no phrase. Looking closer costs twenty times as much.
    fn may_begin(&self, at: usize) -> bool {
        let is_known = self.known.get(at).is_some_and(|known| known.begins || known.meaning.is_some());
        is_known || self.words.get(at).is_some_and(|word| word.lower.starts_with(|c: char| c.is_ascii_digit()))
    }

    fn date_at(&self, at: usize) -> Found<Vec<Period>> {
        let one = |(period, end)| (vec![period], end);
        self.anchored(at)
            .map(one)
            .or_else(|| self.day_phrase(at).map(one))
            .or_else(|| self.calendar(at, None))
            .or_else(|| self.counted(at).map(one))
            .or_else(|| self.directed(at))
            .or_else(|| self.bare(at))
    }

    fn meaning(&self, at: usize) -> Option<Meaning> {
        self.known.get(at).and_then(|known| known.meaning)
    }

    fn number(&self, at: usize) -> Option<i32> {
        match self.meaning(at) {
            Some(Meaning::Number(number)) => Some(number),
            Some(_) => None,
            None => self.words.get(at).and_then(Word::number),
        }
    }

    fn unit(&self, at: usize) -> Found<Unit> {
        let from = self.words.get(at..)?;
        let long = self.dates.unit_phrases.iter().find_map(|(name, unit)| Some((*unit, at + phrase(from, name)?)));
        long.or_else(|| if let Some(Meaning::Unit(unit)) = self.meaning(at) { Some((unit, at + 1)) } else { None })
    }

    /// "two"; also "a couple of".
    fn count(&self, at: usize) -> Found<i32> {
        let count = self.number(at)?;
        let (count, end) = self.number(at + 1).map_or((count, at + 1), |better| (better, at + 2));
        (1..=999).contains(&count).then(|| (count, self.behind_links(end)))
    }

    fn direction(&self, at: usize) -> Option<Direction> {
        match self.meaning(at)? {
            Meaning::Last => Some(Direction::Last),
            Meaning::This => Some(Direction::This),
            Meaning::Next => Some(Direction::Next),
            _ => None,
        }
    }

    fn is_one_of(&self, at: usize, list: &[&str]) -> bool {
        self.words.get(at).is_some_and(|word| word.is_one_of(list))
    }

    /// The word behind one of the phrases that begins here.
    fn phrase_of(&self, at: usize, phrases: &[&str]) -> Option<usize> {
        let from = self.words.get(at..)?;
        phrases.iter().find_map(|wanted| phrase(from, wanted)).map(|length| at + length)
    }

    /// The next word that is no link; itself where there are too many.
    fn behind_links(&self, at: usize) -> usize {
        let links = (at..at + LINKS).take_while(|at| self.is_one_of(*at, self.dates.links)).count();
        at + links
    }

    /// "the week before 16 November 2023", "two weeks after 3 May".
    fn anchored(&self, at: usize) -> Found<Period> {
        let from = if self.direction(at).is_some() { at + 1 } else { at };
        let (count, from) = self.count(from).map_or((None, from), |(count, behind)| (Some(count), behind));
        let weekday = if let Some(Meaning::Weekday(wanted)) = self.meaning(from) { Some(wanted) } else { None };
        let (unit, behind) = match weekday {
            Some(_) => (Unit::Day, from + 1),
            None => self.unit(from)?,
        };
        let sides = [(self.dates.before, Direction::Last), (self.dates.after, Direction::Next)];
        let (direction, behind) =
            sides.iter().find_map(|(phrases, direction)| Some((*direction, self.phrase_of(behind, phrases)?)))?;
        let (anchor, end) = self.anchor(self.behind_links(behind))?;
        let day = if direction == Direction::Last { anchor.first } else { anchor.last };
        let period = match (weekday, count) {
            (Some(wanted), _) => closest_weekday(direction, wanted, day),
            (None, Some(count)) => relative::away(direction.sign() * count, unit, day)?,
            (None, None) if unit == Unit::Weekend => relative::unit(direction, unit, day),
            (None, None) => beside(direction, relative::count_of(direction, 1, unit, day)?),
        };
        Some((period, end))
    }

    /// A date that another one is told from.
    fn anchor(&self, at: usize) -> Found<Period> {
        if let Some((periods, end)) = self.calendar(at, None) {
            return Some((*periods.first()?, end));
        }
        let start = self.words.get(at)?.start;
        let (_, period) = self.in_digits.get(self.in_digits.binary_search_by_key(&start, |(from, _)| *from).ok()?)?;
        // The words that its digits are cut into.
        let digits = self.words.iter().skip(at).take_while(|word| word.number().is_some()).take(3).count();
        Some((*period, at + digits.max(1)))
    }

    fn day_phrase(&self, at: usize) -> Found<Period> {
        let from = self.words.get(at..)?;
        let (days, length) =
            self.dates.day_phrases.iter().find_map(|(wanted, days)| Some((*days, phrase(from, wanted)?)))?;
        Some((Period::day(self.today + days), at + length))
    }

    /// "8 May 2023", "May 8", "May 2023", "in May".
    fn calendar(&self, at: usize, direction: Option<Direction>) -> Found<Vec<Period>> {
        let (written, end) = self.day_then_month(at).or_else(|| self.month_then_day(at))?;
        let periods = match written.year {
            Some(year) => vec![written.in_year(year)?],
            None => self.without_year(written, direction),
        };
        if periods.is_empty() { None } else { Some((periods, end)) }
    }

    fn day_then_month(&self, at: usize) -> Found<Written> {
        let day = self.words.get(at)?.number().filter(|day| (1..=31).contains(day))?;
        let month_at = self.behind_links(at + 1);
        let (Meaning::Month(month) | Meaning::MaybeMonth(month)) = self.meaning(month_at)? else { return None };
        let (year, end) = self.year_at(month_at + 1);
        Some((Written { year, month, day: Some(day) }, end))
    }

    fn month_then_day(&self, at: usize) -> Found<Written> {
        let month = match self.meaning(at)? {
            Meaning::Month(month) => month,
            Meaning::MaybeMonth(month) if self.is_month(at) => month,
            _ => return None,
        };
        let day_at = self.behind_links(at + 1);
        let day = self.words.get(day_at).and_then(Word::number).filter(|day| (1..=31).contains(day));
        let (year, end) = self.year_at(if day.is_some() { day_at + 1 } else { at + 1 });
        Some((Written { year, month, day }, end))
    }

    fn is_month(&self, at: usize) -> bool {
        let before = at.checked_sub(1);
        self.words.get(at).is_some_and(|word| word.is_proper)
            || before.is_some_and(|before| self.is_one_of(before, self.dates.month_signs))
            || self.words.get(at + 1).is_some_and(|word| word.number().is_some())
    }

    fn year_at(&self, at: usize) -> (Option<i32>, usize) {
        let year_at = self.behind_links(at);
        match self.words.get(year_at).and_then(|word| year_number(&word.lower)) {
            Some(year) => (Some(year), year_at + 1),
            None => (None, at),
        }
    }

    fn without_year(&self, written: Written, direction: Option<Direction>) -> Vec<Period> {
        let own = year_and_month(self.today).0;
        let near: Vec<Period> = (own - 1..=own + 1).filter_map(|year| written.in_year(year)).collect();
        let today = Period::day(self.today);
        if let Some(now) = near.iter().find(|period| direction.is_none() && period.overlaps(today)) {
            return vec![*now];
        }
        let past = near.iter().rfind(|period| period.last < self.today).copied();
        let coming = near.iter().find(|period| period.first > self.today).copied();
        match (direction, self.sense) {
            (Some(Direction::Last), _) => past.into_iter().collect(),
            (Some(Direction::Next), _) => coming.into_iter().collect(),
            (Some(Direction::This), _) => written.in_year(own).into_iter().collect(),
            (None, Sense::Asked) => past.into_iter().chain(coming).collect(),
            (None, Sense::Said) => {
                let distance = |period: &Period| (period.first - self.today).max(self.today - period.last);
                past.into_iter().chain(coming).min_by_key(distance).into_iter().collect()
            }
        }
    }

    /// "two weeks ago", "in two weeks", and where a language says it in front ("vor zwei Wochen").
    fn counted(&self, at: usize) -> Found<Period> {
        let in_front = self.phrase_of(at, self.dates.since).map(|from| (from, -1));
        let in_front = in_front.or_else(|| self.phrase_of(at, self.dates.ahead).map(|from| (from, 1)));
        let from = in_front.map_or(at, |(from, _)| from);
        let (count, unit_at) = self.count(from)?;
        let (unit, behind) = self.unit(unit_at)?;
        let (sign, end) = match in_front {
            Some((_, sign)) => (sign, behind),
            None => (-1, self.phrase_of(behind, self.dates.ago)?),
        };
        Some((relative::away(sign * count, unit, self.today)?, end))
    }

    /// "last Friday", "this summer", "the past month", "the past two months", "la semana pasada".
    fn directed(&self, at: usize) -> Found<Vec<Period>> {
        if let Some(behind) = self.phrase_of(at, self.dates.rolling)
            && let Some((unit @ (Unit::Week | Unit::Month | Unit::Quarter | Unit::Year), end)) = self.unit(behind)
            && let Some(period) = relative::count_of(Direction::Last, 1, unit, self.today)
        {
            return Some((vec![period], end));
        }
        if let Some(direction) = self.direction(at) {
            let counted = self.count(at + 1).and_then(|(count, unit_at)| {
                let (unit, end) = self.unit(unit_at)?;
                Some((vec![relative::count_of(direction, count, unit, self.today)?], end))
            });
            let dated = || self.calendar(at + 1, Some(direction));
            return counted.or_else(dated).or_else(|| {
                let (period, end) = self.towards(direction, at + 1)?;
                Some((vec![period], end))
            });
        }
        if !self.dates.behind {
            return None;
        }
        let (_, behind) = self.towards(Direction::This, at)?;
        let sign_at = self.behind_links(behind);
        let (period, _) = self.towards(self.direction(sign_at)?, at)?;
        Some((vec![period], sign_at + 1))
    }

    fn towards(&self, direction: Direction, at: usize) -> Found<Period> {
        if let Some(Meaning::Weekday(wanted)) = self.meaning(at) {
            return Some((closest_weekday(direction, wanted, self.today), at + 1));
        }
        let (unit, end) = self.unit(at)?;
        Some((relative::unit(direction, unit, self.today), end))
    }

    /// "yesterday"; a weekday alone, which may be today, the last or the coming one.
    fn bare(&self, at: usize) -> Found<Vec<Period>> {
        match self.meaning(at)? {
            Meaning::Day(days) if !self.is_no_day(at) => Some((vec![Period::day(self.today + days)], at + 1)),
            Meaning::Weekday(wanted) if !self.is_no_day(at) => {
                let closest = |direction| closest_weekday(direction, wanted, self.today);
                let mut periods = vec![closest(Direction::Last), closest(Direction::Next)];
                if weekday(self.today) == wanted {
                    periods.push(Period::day(self.today));
                }
                Some((periods, at + 1))
            }
            _ => None,
        }
    }

    fn is_no_day(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.words.get(at));
        let (Some(before), Some(word)) = (before, self.words.get(at)) else { return false };
        self.dates.not_days.iter().any(|(sign, day)| before.lower == *sign && (*day == "*" || word.lower == *day))
    }
}

impl Written {
    fn in_year(self, year: i32) -> Option<Period> {
        match self.day {
            Some(day) => date(year, self.month, day).map(Period::day),
            None => Some(month(year, self.month)),
        }
    }
}

/// Without the day that it is told from.
fn beside(direction: Direction, period: Period) -> Period {
    match direction {
        Direction::Next => Period { first: period.first + 1, ..period },
        _ => Period { last: period.last - 1, ..period },
    }
}

impl Lexicon {
    /// Whether the word is a date's and so, with a capital, nobody's name.
    pub(super) fn is_calendar(&self, word: &str) -> bool {
        matches!(self.get(word), Some(Meaning::Month(_) | Meaning::MaybeMonth(_) | Meaning::Weekday(_)))
    }
}

#[cfg(test)]
#[path = "dates_tests.rs"]
mod tests;
