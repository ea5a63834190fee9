//! Who spoke next to whom: the turns of a session in order, cut into sittings.
use crate::model::Kind;

/// A turn that belongs to no session; it has no neighbours.
pub const NO_SESSION: u32 = u32::MAX;

/// No such row.
const NONE: u32 = u32::MAX;

/// The thread of a scope, by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thread {
    sitting: Vec<u32>,
    sittings: usize,
    previous: Vec<u32>,
    next: Vec<u32>,
}

impl Thread {
    /// Orders the turns of each session by turn number, then row, and starts a new sitting where two that follow each
    /// other are more than `gap_us` apart. Everything that is not a turn of a session is a sitting of its own.
    #[must_use]
    pub fn new(sessions: &[u32], turns: &[i64], ts: &[i64], kinds: &[Kind], gap_us: i64) -> Self {
        let columns =
            sessions.iter().zip(turns).zip(ts).zip(kinds).map(|(((s, turn), ts), kind)| (*s, *turn, *ts, *kind));
        let (mut ordered, mut alone) = (Vec::with_capacity(kinds.len()), Vec::new());
        for (row, (session, turn, ts, kind)) in (0_u32..).zip(columns) {
            if kind == Kind::Turn && session != NO_SESSION {
                ordered.push((session, turn, row, ts));
            } else {
                alone.push(row);
            }
        }
        ordered.sort_unstable();
        let mut thread = Self::without_neighbours(kinds.len());
        thread.join(&ordered, gap_us.unsigned_abs());
        for row in alone {
            thread.seat(row);
            thread.sittings += 1;
        }
        thread
    }

    /// With other sittings, numbered from 0 without a gap: rows of one may have lost what stood between them.
    #[must_use]
    pub fn seated(mut self, sitting: &[u32]) -> Self {
        self.sittings = sitting.iter().max().map_or(0, |last| *last as usize + 1);
        self.sitting = sitting.to_vec();
        self
    }

    /// With each fact in the sitting of the latest turn that it cites, not in one of its own. `citations` are pairs of rows, fact and
    /// turn, by rising fact.
    #[must_use]
    pub fn with_facts(mut self, citations: &[(u32, u32)]) -> Self {
        if citations.is_empty() {
            return self;
        }
        for of_fact in citations.chunk_by(|a, b| a.0 == b.0) {
            let latest = of_fact.iter().max_by_key(|(_, turn)| *turn);
            let seat = latest.and_then(|(fact, turn)| Some((*fact, *self.sitting.get(*turn as usize)?)));
            if let Some((fact, seat)) = seat
                && let Some(slot) = self.sitting.get_mut(fact as usize)
            {
                *slot = seat;
            }
        }
        let mut known = vec![NONE; self.sittings];
        self.sittings = 0;
        for seat in &mut self.sitting {
            let Some(number) = known.get_mut(*seat as usize) else { continue };
            if *number == NONE {
                *number = self.sittings as u32;
                self.sittings += 1;
            }
            *seat = *number;
        }
        self
    }

    fn without_neighbours(rows: usize) -> Self {
        Self { sitting: vec![0; rows], sittings: 0, previous: vec![NONE; rows], next: vec![NONE; rows] }
    }

    /// Seats turns given in order of (session, turn, row).
    fn join(&mut self, ordered: &[(u32, i64, u32, i64)], gap_us: u64) {
        let mut before: Option<(u32, u32, i64)> = None;
        for &(session, _, row, ts) in ordered {
            match before {
                Some((same, left, then)) if same == session && ts.abs_diff(then) <= gap_us => self.link(left, row),
                Some(_) => self.sittings += 1,
                None => {}
            }
            self.seat(row);
            before = Some((session, row, ts));
        }
        self.sittings += usize::from(before.is_some());
    }

    fn link(&mut self, left: u32, right: u32) {
        if let Some(slot) = self.next.get_mut(left as usize) {
            *slot = right;
        }
        if let Some(slot) = self.previous.get_mut(right as usize) {
            *slot = left;
        }
    }

    fn seat(&mut self, row: u32) {
        if let Some(slot) = self.sitting.get_mut(row as usize) {
            *slot = self.sittings as u32;
        }
    }

    /// The sitting of each row, numbered from 0.
    #[must_use]
    pub fn sitting(&self) -> &[u32] {
        &self.sitting
    }

    /// How many sittings there are.
    #[must_use]
    pub fn sittings(&self) -> usize {
        self.sittings
    }

    /// The turn said before this one in the same sitting.
    #[must_use]
    pub fn previous(&self, row: usize) -> Option<usize> {
        self.previous.get(row).filter(|row| **row != NONE).map(|row| *row as usize)
    }

    /// As [`Self::previous`] without an `Option`: a number that no row has where there is none.
    pub(super) fn before(&self, row: u32) -> u32 {
        self.previous.get(row as usize).copied().unwrap_or(NONE)
    }

    /// As [`Self::next`], likewise.
    pub(super) fn behind(&self, row: u32) -> u32 {
        self.next.get(row as usize).copied().unwrap_or(NONE)
    }

    /// The turn said after this one in the same sitting.
    #[must_use]
    pub fn next(&self, row: usize) -> Option<usize> {
        self.next.get(row).filter(|row| **row != NONE).map(|row| *row as usize)
    }
}

#[cfg(test)]
mod tests {
    use Kind::{Document, Fact, Pinned, Turn};

    use super::*;

    fn neighbours(thread: &Thread, rows: usize) -> Vec<(Option<usize>, Option<usize>)> {
        (0..rows).map(|row| (thread.previous(row), thread.next(row))).collect()
    }

    #[test]
    fn turns_of_one_session_follow_by_number_then_by_insertion() {
        let thread = Thread::new(&[5, 5, 5], &[2, 1, 1], &[0, 0, 0], &[Turn; 3], 10);
        assert_eq!(neighbours(&thread, 3), [(Some(2), None), (None, Some(2)), (Some(1), Some(0))]);
        assert_eq!(thread.sittings(), 1);
    }

    #[test]
    fn a_gap_longer_than_allowed_starts_a_sitting_in_either_direction() {
        let thread = Thread::new(&[0; 4], &[0, 1, 2, 3], &[0, 10, 21, 5], &[Turn; 4], 10);
        assert_eq!(thread.sitting(), [0, 0, 1, 2]);
        assert_eq!(neighbours(&thread, 4), [(None, Some(1)), (Some(0), None), (None, None), (None, None)]);
    }

    #[test]
    fn sessions_are_not_neighbours_of_each_other() {
        let thread = Thread::new(&[0, 1, 0], &[0, 0, 1], &[0; 3], &[Turn; 3], 10);
        assert_eq!(thread.sitting(), [0, 1, 0]);
        assert_eq!(neighbours(&thread, 3), [(None, Some(2)), (None, None), (Some(0), None)]);
    }

    #[test]
    fn what_is_no_turn_of_a_session_sits_alone() {
        let thread = Thread::new(&[0, 0, NO_SESSION, 0, 0], &[0; 5], &[0; 5], &[Turn, Fact, Turn, Document, Pinned], 9);
        assert_eq!(neighbours(&thread, 5), [(None, None); 5]);
        assert_eq!(thread.sitting(), [0, 1, 2, 3, 4]);
        assert_eq!(thread.sittings(), 5);
    }

    #[test]
    fn a_fact_sits_where_the_latest_of_its_turns_does() {
        let kinds = [Fact, Turn, Turn, Turn, Fact, Fact];
        let thread = Thread::new(&[0; 6], &[0, 1, 2, 3, 0, 0], &[0, 0, 50, 51, 0, 0], &kinds, 10);
        assert_eq!(thread.sitting(), [2, 0, 1, 1, 3, 4]);
        let thread = thread.with_facts(&[(0, 1), (0, 3), (4, 1)]);
        assert_eq!((thread.sitting(), thread.sittings()), (&[0, 1, 0, 0, 1, 2][..], 3));
    }

    #[test]
    fn an_empty_scope_has_no_sittings() {
        assert_eq!(Thread::new(&[], &[], &[], &[], 1), Thread::default());
    }
}
