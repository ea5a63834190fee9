//! What words say beyond their meaning: a date, earlier talk, what a question asks for, a name. The words of a language are one
//! file of lists; the rules that read them are common. Without a language, only what is written in digits is seen.
pub mod asks;

pub mod dates;
mod digits;
mod english;
mod german;
mod lexicon;
pub mod marks;
pub mod periods;
pub mod question;
pub mod related;
mod relative;
mod spanish;
pub mod talk;
pub mod words;

use std::sync::LazyLock;

pub use english::ENGLISH;
pub use german::GERMAN;
pub use spanish::SPANISH;

/// The words of one language, in lower case.
#[derive(Debug)]
pub struct Language {
    /// As in `Collection(language=...)`.
    pub name: &'static str,
    pub dates: lexicon::DateWords,
    /// Made of `dates`.
    pub lexicon: LazyLock<lexicon::Lexicon>,
    pub questions: asks::QuestionWords,
    pub talk: talk::TalkWords,
    /// Words with a capital that are nobody's name.
    pub capitals: &'static [&'static str],
    /// Where every noun has a capital: words before a name.
    pub name_signs: Option<&'static [&'static str]>,
    /// Words near in meaning, where somebody measured them.
    pub related: Option<related::RelatedWords>,
}

static LANGUAGES: &[&Language] = &[&ENGLISH, &GERMAN, &SPANISH];

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
        assert!(LANGUAGES.iter().all(|language| Language::of(language.name).is_some()));
        assert!(Language::of("klingon").is_none());
    }
}
