//! What an estimate of relevance looks at of each memory: two bytes, where its entry is a line of memory and more.
use super::columns::USER;
use super::gather::Part;
use crate::model::Kind;
use crate::rank::signals::{cues, window};

/// The user's own words, or a fact.
pub(super) const USER_WORDS: u8 = 1;
pub(super) const NAMES_TIME: u8 = 1 << 1;
pub(super) const NAMES_PROPER: u8 = 1 << 2;
/// Short, and nothing but a question.
pub(super) const ONLY_ASKS: u8 = 1 << 3;
/// The row before it asks something.
pub(super) const AFTER_QUESTION: u8 = 1 << 4;
/// No turn: it stands for itself.
pub(super) const ALONE: u8 = 1 << 5;

/// By index.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub flags: Vec<u8>,
    /// `min(1, 40 / tokens)`, of 255.
    pub short: Vec<u8>,
}

impl Marks {
    pub fn of(parts: &[Part]) -> Self {
        let mut marks = Self::default();
        let mut asks = false;
        for part in parts {
            let user = part.partition.roles().code(USER);
            for (_, entry) in part.entries() {
                let is_user = entry.kind.is_fact() || (entry.role != 0 && Some(entry.role) == user);
                let only_asks = entry.question == u8::MAX && entry.tokens <= cues::SHORT;
                let flags = [
                    (is_user, USER_WORDS),
                    (entry.names_time, NAMES_TIME),
                    (entry.names_proper, NAMES_PROPER),
                    (only_asks, ONLY_ASKS),
                    (asks, AFTER_QUESTION),
                    (entry.kind != Kind::Turn, ALONE),
                ];
                marks.flags.push(flags.into_iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag));
                marks.short.push(((window::LENGTH / entry.tokens as f32).min(1.0) * 255.0).round() as u8);
                asks = entry.question > u8::MAX / 2;
            }
        }
        marks
    }

    pub fn join(&mut self, other: &Self) {
        self.flags.extend_from_slice(&other.flags);
        self.short.extend_from_slice(&other.short);
    }
}
