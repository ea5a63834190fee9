//! Retrieved memories as they read: in the order of time, each day's under its date.
//!
//! Chosen by rank, shown by time: a model reads a thread forwards, and a date said once a day instead of once a line leaves the
//! tokens to evidence (docs/adr/0003-lean-lines.md). A fact alone on its day has the date in its own line, without the year where the
//! day above has the same: facts are spread over more days than turns, and such a date is half as long
//! (docs/adr/0101-a-lone-fact-brings-its-date.md).
use super::render::{Line, Section, dated_fact};
use crate::calendar::{day, iso_day};

/// Where a memory stands: its time, its turn, and for facts of one instant their rank.
type Place = (i64, i64, usize);

#[derive(Debug, Clone)]
pub struct Entry {
    place: Place,
    shown: String,
    /// A fact with its month and day, for where it stands alone.
    dated: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Timeline {
    entries: Vec<Entry>,
    facts: usize,
}

impl Timeline {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether what is shown of one memory depends on others than those of its day.
    pub fn has_facts(&self) -> bool {
        self.facts > 0
    }

    /// Whether a memory of the same day is there, whose date stands above both.
    pub fn has_day_of(&self, line: &Line) -> bool {
        self.entries.iter().any(|entry| day(entry.place.0) == day(line.ts))
    }

    /// Adds the memory, or changes how it is shown; returns how it was.
    pub fn add(&mut self, line: &Line, rank: usize) -> Option<Entry> {
        let dated = line.is_fact().then(|| dated_fact(line, month_and_day(&heading(line.ts))));
        self.put(Entry { place: place(line, rank), shown: Section::Retrieved.line(line), dated })
    }

    fn put(&mut self, entry: Entry) -> Option<Entry> {
        let at = self.find(&entry.place);
        let before = at.ok().map(|at| self.take(at));
        let (Ok(at) | Err(at)) = at;
        self.facts += usize::from(entry.dated.is_some());
        self.entries.insert(at, entry);
        before
    }

    fn take(&mut self, at: usize) -> Entry {
        let entry = self.entries.remove(at);
        self.facts -= usize::from(entry.dated.is_some());
        entry
    }

    /// The line of a memory that was added, as it stands below its day's date.
    pub fn get(&self, line: &Line, rank: usize) -> Option<&str> {
        self.find(&place(line, rank)).ok().and_then(|at| self.entries.get(at)).map(|entry| entry.shown.as_str())
    }

    /// Takes out a memory that was added.
    pub fn remove(&mut self, line: &Line, rank: usize) {
        if let Ok(at) = self.find(&place(line, rank)) {
            self.take(at);
        }
    }

    /// Takes back what [`Timeline::add`] did.
    pub fn undo(&mut self, line: &Line, rank: usize, before: Option<Entry>) {
        self.remove(line, rank);
        before.map(|entry| self.put(entry));
    }

    fn find(&self, place: &Place) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.place.cmp(place))
    }

    /// The lines of a memory's place and of those beside it: all that adding it changes.
    pub fn lines_around(&self, line: &Line, rank: usize) -> Vec<String> {
        let found = self.find(&place(line, rank));
        let (Ok(at) | Err(at)) = found;
        let end = at + 1 + usize::from(found.is_ok());
        let around = at.saturating_sub(1)..end.min(self.entries.len());
        around.flat_map(|at| self.lines_at(at)).collect()
    }

    pub fn text(&self) -> String {
        let lines: Vec<String> = (0..self.entries.len()).flat_map(|at| self.lines_at(at)).collect();
        lines.join("\n")
    }

    /// The line of the memory there, below its day's date where it is the first of the day.
    fn lines_at(&self, at: usize) -> impl Iterator<Item = String> {
        let entry = self.entries.get(at);
        let starts_day = self.day_at(at) != at.checked_sub(1).and_then(|above| self.day_at(above));
        let dated = entry.and_then(|entry| entry.dated.as_ref()).filter(|_| starts_day && self.is_dated_alone(at));
        let date = entry.filter(|_| starts_day && dated.is_none()).map(|entry| heading(entry.place.0));
        let shown = dated.or(entry.map(|entry| &entry.shown)).cloned();
        [date, shown].into_iter().flatten()
    }

    fn day_at(&self, at: usize) -> Option<i64> {
        self.entries.get(at).map(|entry| day(entry.place.0))
    }

    /// Whether the first of a day is alone on it, and the day above is of the same year.
    fn is_dated_alone(&self, at: usize) -> bool {
        let year = |at: usize| self.entries.get(at).map(|entry| year(&heading(entry.place.0)).to_owned());
        let above = at.checked_sub(1).and_then(year);
        self.day_at(at) != self.day_at(at + 1) && above.is_some() && above == year(at)
    }
}

fn place(line: &Line, rank: usize) -> Place {
    (line.ts, line.turn.unwrap_or(i64::MAX), rank)
}

/// The line above a day's memories.
pub fn heading(ts: i64) -> String {
    iso_day(ts)
}

fn year(heading: &str) -> &str {
    heading.split_once('-').map_or(heading, |(year, _)| year)
}

fn month_and_day(heading: &str) -> &str {
    heading.split_once('-').map_or(heading, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn line(text: &str, ts: i64, turn: Option<i64>) -> Line<'_> {
        Line { text, role: "user", name: None, ts, turn }
    }

    #[test]
    fn memories_read_by_time_under_their_day() {
        let mut timeline = Timeline::default();
        for (rank, (text, ts, turn)) in
            [("c", 30 * HOUR, Some(4)), ("a", HOUR, Some(1)), ("fact", HOUR, None), ("b", HOUR, Some(2))]
                .into_iter()
                .enumerate()
        {
            timeline.add(&line(text, ts, turn), rank);
        }
        assert_eq!(timeline.text(), "1970-01-01\nuser: a\nuser: b\nuser: fact\n1970-01-02\nuser: c");
    }

    #[test]
    fn a_memory_added_again_is_shown_anew_in_its_place() {
        let mut timeline = Timeline::default();
        for (rank, (text, ts)) in [("a", 0), ("b", 1), ("c", 2)].into_iter().enumerate() {
            timeline.add(&line(text, ts, None), rank);
        }
        timeline.add(&line("longer", 1, None), 1);
        assert_eq!(timeline.text(), "1970-01-01\nuser: a\nuser: longer\nuser: c");
        assert_eq!(timeline.get(&line("", 1, None), 1), Some("user: longer"));
        assert_eq!(timeline.get(&line("", 1, None), 2), None);
    }

    #[test]
    fn a_day_is_known_by_any_of_its_memories() {
        let mut timeline = Timeline::default();
        timeline.add(&line("late", 23 * HOUR, None), 0);
        assert!(timeline.has_day_of(&line("early", 0, None)));
        assert!(!timeline.has_day_of(&line("next", 24 * HOUR, None)));
        assert!(!timeline.has_day_of(&line("before", -1, None)));
    }

    const DAY: i64 = 24 * HOUR;

    fn fact(text: &str, day: i64) -> Line<'_> {
        Line { text, role: "", name: None, ts: day * DAY, turn: None }
    }

    fn shown(lines: &[Line]) -> String {
        let mut timeline = Timeline::default();
        for (rank, line) in lines.iter().enumerate() {
            timeline.add(line, rank);
        }
        timeline.text()
    }

    #[test]
    fn a_fact_alone_on_its_day_brings_its_date() {
        let lines = [line("a", 0, Some(1)), fact("b", 3), fact("c", 40)];
        assert_eq!(shown(&lines), "1970-01-01\nuser: a\n01-04: b\n02-10: c");
    }

    #[test]
    fn the_first_fact_of_a_year_stands_under_its_date() {
        assert_eq!(shown(&[fact("a", 3), fact("b", 4), fact("c", 365)]), "1970-01-04\n- a\n01-05: b\n1971-01-01\n- c");
    }

    #[test]
    fn facts_of_one_day_stand_under_its_date() {
        let lines = [line("a", 0, Some(1)), fact("b", 3), fact("c", 3), fact("d", 5), line("e", 5 * DAY, Some(2))];
        assert_eq!(shown(&lines), "1970-01-01\nuser: a\n1970-01-04\n- b\n- c\n1970-01-06\nuser: e\n- d");
    }

    #[test]
    fn a_turn_alone_on_its_day_stands_under_its_date_also_without_a_role() {
        let note = Line { role: "", ..line("b", DAY, Some(2)) };
        assert_eq!(shown(&[line("a", 0, Some(1)), note]), "1970-01-01\nuser: a\n1970-01-02\n- b");
    }

    /// From the description: a day at a time, its date above it or, of a lone fact in a year that was named, in its line.
    fn naive(lines: &[Line]) -> String {
        let mut out = Vec::new();
        let mut year_above = String::new();
        for day in 350..380 {
            let mut of_day: Vec<(Place, &Line)> =
                lines.iter().enumerate().map(|(rank, line)| (place(line, rank), line)).collect();
            of_day.retain(|(_, line)| line.ts.div_euclid(DAY) == day);
            of_day.sort_by_key(|(place, _)| *place);
            let date = iso_day(day * DAY);
            let text = |line: &Line| match line.turn {
                Some(_) => format!("user: {}", line.text),
                None => format!("- {}", line.text),
            };
            match of_day.as_slice() {
                [] => continue,
                [(_, line)] if line.turn.is_none() && date.starts_with(&year_above) && !year_above.is_empty() => {
                    out.push(format!("{}: {}", date.replacen(&format!("{year_above}-"), "", 1), line.text));
                }
                several => {
                    out.push(date.clone());
                    out.extend(several.iter().map(|(_, line)| text(line)));
                }
            }
            year_above = date.chars().take(4).collect();
        }
        out.join("\n")
    }

    proptest! {
        #[test]
        fn a_timeline_is_its_description_whatever_was_taken_out_again(
            made in prop::collection::vec((350_i64..380, "[a-z]{1,9}", any::<bool>(), any::<bool>()), 0..14)
        ) {
            let of = |(turn, (day, text, is_fact, _)): (usize, &'_ (i64, String, bool, bool))| (*day, text.clone(), !is_fact, turn);
            let all: Vec<_> = made.iter().enumerate().map(of).collect();
            let lines: Vec<Line> = all.iter().map(|(day, text, is_turn, turn)| {
                let turn = is_turn.then_some(*turn as i64);
                Line { text, role: if *is_turn { "user" } else { "" }, name: None, ts: day * DAY, turn }
            }).collect();
            let mut timeline = Timeline::default();
            for (rank, line) in lines.iter().enumerate() {
                let before = timeline.text();
                let was = timeline.add(line, rank);
                timeline.undo(line, rank, was);
                prop_assert_eq!(timeline.text(), before);
                timeline.add(&Line { text: "longer", ..*line }, rank);
                timeline.add(line, rank);
            }
            prop_assert_eq!(timeline.text(), naive(&lines));
            let kept: Vec<usize> = (0..lines.len()).filter(|at| made.get(*at).is_some_and(|(.., keeps)| *keeps)).collect();
            let mut of_kept = Timeline::default();
            for (rank, line) in lines.iter().enumerate() {
                if kept.contains(&rank) { of_kept.add(line, rank); } else { timeline.remove(line, rank); }
            }
            prop_assert_eq!(timeline.text(), of_kept.text());
            prop_assert_eq!(timeline.has_facts(), of_kept.has_facts());
        }
    }
}
