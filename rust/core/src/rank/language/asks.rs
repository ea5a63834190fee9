//! What kind of thing a question asks for.
use super::Language;
use super::words::{Word, phrase};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// When something was or will be.
    Time,
    /// Who, which or where: something that has a name.
    Name,
    /// How many or how much.
    Number,
    Other,
}

/// A language's question words, as phrases.
#[derive(Debug)]
pub struct QuestionWords {
    pub time: &'static [&'static str],
    pub name: &'static [&'static str],
    pub number: &'static [&'static str],
    pub other: &'static [&'static str],
}

/// By the first question word: later ones only join clauses ("what did I do when ..."). Of the phrases that begin there the longest.
#[must_use]
pub fn asks(words: &[Word], language: Option<&Language>) -> Option<Asks> {
    let questions = &language?.questions;
    let kinds = [
        (questions.time, Asks::Time),
        (questions.name, Asks::Name),
        (questions.number, Asks::Number),
        (questions.other, Asks::Other),
    ];
    (0..words.len()).find_map(|at| {
        let from = words.get(at..)?;
        let lengths = kinds.iter().flat_map(|(phrases, kind)| {
            phrases.iter().filter_map(|wanted| phrase(from, wanted)).map(|length| (length, *kind))
        });
        lengths.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
    })
}

#[cfg(test)]
mod tests {
    use super::super::ENGLISH;
    use super::super::words::words;
    use super::*;

    fn kind(text: &str) -> Option<Asks> {
        asks(&words(text), Some(&ENGLISH))
    }

    #[test]
    fn questions_for_a_time() {
        for text in
            ["When did I move?", "do you remember when I moved", "What year was it", "How long ago did she leave?"]
        {
            assert_eq!(kind(text), Some(Asks::Time), "{text}");
        }
    }

    #[test]
    fn questions_for_a_name() {
        for text in ["Who came?", "tell me where I bought it", "Which book did I like", "To whom did I write?"] {
            assert_eq!(kind(text), Some(Asks::Name), "{text}");
        }
    }

    #[test]
    fn questions_for_a_number() {
        for text in ["How many books did I read?", "and how much was it", "How old is she?"] {
            assert_eq!(kind(text), Some(Asks::Number), "{text}");
        }
        assert_eq!(kind("How many weeks ago did she leave?"), Some(Asks::Time));
    }

    #[test]
    fn other_texts_ask_for_neither() {
        assert_eq!(kind("What did I say when I came?"), Some(Asks::Other));
        assert_eq!(kind("How is the man who came?"), Some(Asks::Other));
        assert_eq!(kind("my shoe size"), None);
        assert_eq!(asks(&words("When?"), None), None);
    }
}
