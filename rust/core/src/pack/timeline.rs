//! Retrieved memories as they read: in the order of time, each day's under its date.
//!
//! Chosen by rank, shown by time: a model reads a thread forwards, and a date said once a day instead of once a line leaves the
//! tokens to evidence (docs/adr/0003-lean-lines.md).
use super::render::{Line, Section};
use crate::calendar::{day, iso_day};

/// Where a memory stands: its time, its turn, and for facts of one instant their rank.
type Place = (i64, i64, usize);

#[derive(Debug, Clone, Default)]
pub struct Timeline {
    entries: Vec<(Place, String)>,
}

impl Timeline {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a memory of the same day is there, whose date stands above both.
    pub fn has_day_of(&self, line: &Line) -> bool {
        self.entries.iter().any(|((ts, ..), _)| day(*ts) == day(line.ts))
    }

    /// Adds the memory, or changes how it is shown.
    pub fn add(&mut self, line: &Line, rank: usize) {
        let shown = Section::Retrieved.line(line);
        let at = self.find(line, rank);
        if let Ok(at) = at {
            self.entries.remove(at);
        }
        let (Ok(at) | Err(at)) = at;
        self.entries.insert(at, (place(line, rank), shown));
    }

    /// The line of a memory that was added.
    pub fn get(&self, line: &Line, rank: usize) -> Option<&str> {
        self.find(line, rank).ok().and_then(|at| self.entries.get(at)).map(|(_, shown)| shown.as_str())
    }

    /// Takes out a memory that was added.
    pub fn remove(&mut self, line: &Line, rank: usize) {
        if let Ok(at) = self.find(line, rank) {
            self.entries.remove(at);
        }
    }

    fn find(&self, line: &Line, rank: usize) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| other.cmp(&place(line, rank)))
    }

    pub fn text(&self) -> String {
        let mut lines = Vec::with_capacity(self.entries.len() * 2);
        let mut shown = None;
        for ((ts, ..), line) in &self.entries {
            if shown.replace(day(*ts)) != Some(day(*ts)) {
                lines.push(heading(*ts));
            }
            lines.push(line.clone());
        }
        lines.join("\n")
    }
}

fn place(line: &Line, rank: usize) -> Place {
    (line.ts, line.turn.unwrap_or(i64::MAX), rank)
}

/// The line above a day's memories.
pub fn heading(ts: i64) -> String {
    iso_day(ts)
}

#[cfg(test)]
mod tests {
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
}
