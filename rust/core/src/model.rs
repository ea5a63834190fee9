//! The domain's nouns.
use crate::error::{Error, Result};

/// What a stored text is. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    /// A kind a caller may name: `turn`, `fact` or `pinned`. Documents come from `add()` alone.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "turn" => Ok(Self::Turn),
            "fact" => Ok(Self::Fact),
            "pinned" => Ok(Self::Pinned),
            _ => Err(Error::invalid(format!("kind must be \"turn\", \"fact\" or \"pinned\", got {name:?}"))),
        }
    }

    /// The kind stored as `code`; `None` when nothing is stored so.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_those_on_disk() {
        assert_eq!(Kind::ALL.map(Kind::code), [0, 1, 2, 3]);
        assert_eq!(Kind::ALL.map(Kind::as_str), ["document", "turn", "fact", "pinned"]);
    }

    #[test]
    fn a_kind_survives_its_code() {
        assert!(Kind::ALL.into_iter().all(|kind| Kind::from_code(kind.code()) == Some(kind)));
        assert_eq!(Kind::from_code(4), None);
    }

    #[test]
    fn parsing_refuses_what_a_caller_cannot_store() {
        assert!(matches!(Kind::parse("pinned"), Ok(Kind::Pinned)));
        for name in ["document", "Turn", "", "turns"] {
            assert!(matches!(Kind::parse(name), Err(Error::InvalidInput(_))), "{name}");
        }
    }
}
