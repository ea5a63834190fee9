//! The words of the domain that every layer shares.

/// What a memory is. The codes are on disk and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A text of its own, added with `add()`.
    Document = 0,
    /// Something said, numbered in its session.
    Turn = 1,
    /// Stands alone.
    Fact = 2,
    /// A fact that is always in the context.
    Pinned = 3,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Document, Self::Turn, Self::Fact, Self::Pinned];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Turn => "turn",
            Self::Fact => "fact",
            Self::Pinned => "pinned",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Facts and pinned facts: they have no thread.
    #[must_use]
    pub fn is_fact(self) -> bool {
        matches!(self, Self::Fact | Self::Pinned)
    }
}

/// What a caller says about a memory after using it. The codes are on disk and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Outcome {
    Useful = 0,
    DeadEnd = 1,
    Corrected = 2,
}

impl Outcome {
    pub const ALL: [Self; 3] = [Self::Useful, Self::DeadEnd, Self::Corrected];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Useful => "useful",
            Self::DeadEnd => "dead_end",
            Self::Corrected => "corrected",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }

    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| *outcome as u8 == code)
    }

    /// +1 raises, -1 lowers.
    #[must_use]
    pub fn sign(self) -> i8 {
        match self {
            Self::Useful => 1,
            Self::DeadEnd | Self::Corrected => -1,
        }
    }
}

/// What a judge did when the memory was stored. The codes are on disk and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Judge {
    #[default]
    None = 0,
    Ok = 1,
    Failed = 2,
}

impl Judge {
    pub const ALL: [Self; 3] = [Self::None, Self::Ok, Self::Failed];

    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|judge| *judge as u8 == code)
    }
}

/// How many models a collection can have at a time.
pub const MOST_MODELS: usize = 2;

/// The place of a model among the collection's current ones, from 0.
pub type Slot = usize;

/// A vector, and which of the collection's current models made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    pub slot: Slot,
    pub values: Vec<f32>,
}

impl Vector {
    /// Of the first model, which is the only one of most collections.
    #[must_use]
    pub fn first(values: Vec<f32>) -> Self {
        Self { slot: 0, values }
    }
}

/// A run of whole days in UTC, counted from 1 January 1970, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Period {
    pub first: i32,
    pub last: i32,
}

impl Period {
    /// A single day.
    #[must_use]
    pub fn day(day: i32) -> Self {
        Self { first: day, last: day }
    }

    #[must_use]
    pub fn days(self) -> i32 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// What ranking needs to know of a memory's own words, found when it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks {
    /// It says when something is: a date, a relative time, an hour.
    pub names_time: bool,
    /// It names somebody or something.
    pub names_proper: bool,
    /// The days that its dates mean, told from its own time.
    pub periods: Vec<Period>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_those_on_disk() {
        assert_eq!(Kind::ALL.map(Kind::code), [0, 1, 2, 3]);
        assert_eq!(Kind::ALL.map(Kind::as_str), ["document", "turn", "fact", "pinned"]);
    }

    #[test]
    fn a_kind_survives_its_code_and_its_name() {
        assert!(Kind::ALL.into_iter().all(|kind| Kind::from_code(kind.code()) == Some(kind)));
        assert!(Kind::ALL.into_iter().all(|kind| Kind::parse(kind.as_str()) == Some(kind)));
        assert_eq!(Kind::from_code(4), None);
        assert_eq!(Kind::parse("Turn"), None);
    }
}
