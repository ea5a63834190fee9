//! Which base signals a read uses.
use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Hybrid,
    /// By vectors alone.
    Dense,
    /// By words alone.
    Lexical,
}

impl Mode {
    /// `sparse` is another name of `lexical`.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "hybrid" => Ok(Self::Hybrid),
            "dense" => Ok(Self::Dense),
            "lexical" | "sparse" => Ok(Self::Lexical),
            _ => Err(Error::invalid(format!("mode must be \"hybrid\", \"dense\" or \"lexical\", got {name:?}"))),
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Dense => "dense",
            Self::Lexical => "lexical",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_names_and_sparse_is_lexical() {
        for mode in [Mode::Hybrid, Mode::Dense, Mode::Lexical] {
            assert!(matches!(Mode::parse(mode.as_str()), Ok(same) if same == mode));
        }
        assert!(matches!(Mode::parse("sparse"), Ok(Mode::Lexical)));
        assert!(matches!(Mode::parse("Dense"), Err(Error::InvalidInput(_))));
    }
}
