//! What a query's words say, beyond their meaning: a date, earlier talk. The words of a language are one file of lists;
//! the rules that read them (`dates`, `talk`) are common. Without a language, only what is written in digits is seen.
pub mod dates;
mod english;
pub mod question;
pub mod talk;
mod words;

pub use english::ENGLISH;

/// The words of one language, in lower case.
#[derive(Debug)]
pub struct Language {
    /// As in `Collection(language=...)`.
    pub name: &'static str,
    pub dates: dates::DateWords,
    pub talk: talk::TalkWords,
}

static LANGUAGES: &[&Language] = &[&ENGLISH];

impl Language {
    /// `None` for a language whose words nobody has written down yet.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        LANGUAGES.iter().copied().find(|language| language.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_by_its_name_alone() {
        assert!(Language::of("english").is_some());
        assert!(Language::of("klingon").is_none());
    }
}
