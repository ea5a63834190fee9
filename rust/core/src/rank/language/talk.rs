//! Does a query ask for what the assistant said, or name an earlier conversation? A second person that said or gave
//! something, "our last chat", "remind me".
use super::Language;
use super::words::{Word, phrase};

/// A language's words for who said what to whom.
#[derive(Debug)]
pub struct TalkWords {
    /// Whom the query addresses.
    pub you: &'static [&'static str],
    /// Both together.
    pub we: &'static [&'static str],
    /// May stand between subject and verb ("you have previously told").
    pub between: &'static [&'static str],
    /// Before the subject, turn a plain verb into the past ("did you offer").
    pub did: &'static [&'static str],
    /// Between an auxiliary and its subject ("did the assistant say").
    pub articles: &'static [&'static str],
    /// Saying and giving, as after `did`.
    pub say: &'static [&'static str],
    /// Saying and giving, in the past.
    pub said: &'static [&'static str],
    /// Talking together, as after `did`.
    pub talk: &'static [&'static str],
    pub talked: &'static [&'static str],
    pub your: &'static [&'static str],
    /// What a second person gave ("your recommendation").
    pub answers: &'static [&'static str],
    pub our: &'static [&'static str],
    /// What both had ("our last chat").
    pub conversations: &'static [&'static str],
    /// Phrases that ask to repeat or name earlier talk by themselves, unless one of `instruction` follows ("remind me to call").
    pub phrases: &'static [&'static str],
    pub instruction: &'static [&'static str],
    /// Verbs that have their subject in them: you said, we talked ("recomendaste").
    pub said_alone: &'static [&'static str],
    /// Directly before whom the query addresses ("dijo usted").
    pub said_before: &'static [&'static str],
    /// Addresses only with a capital ("Sie").
    pub formal_you: &'static [&'static str],
    /// Where the verb may stand anywhere behind its subject: subjects that begin another clause.
    pub others: &'static [&'static str],
    pub anywhere: bool,
}

/// The most words between a subject and its verb, or a possessive and its noun.
const REACH: usize = 3;

/// Whether the query asks for what the assistant said or refers to earlier talk; never without a language.
#[must_use]
pub fn names_earlier_talk(words: &[Word], language: Option<&Language>) -> bool {
    let Some(talk) = language.map(|language| &language.talk) else { return false };
    // From behind: what the rest of a clause holds is known then, however long it is.
    let (mut said, mut talked) = (false, false);
    (0..words.len()).rev().any(|at| {
        let (before, from) = words.split_at(at);
        let (said_behind, talked_behind) = (said, talked);
        if let Some(word) = from.first() {
            let ends_clause = word.starts_clause || word.is_one_of(talk.others);
            said = !ends_clause && (said_behind || word.is_one_of(talk.said));
            talked = !ends_clause && (talked_behind || word.is_one_of(talk.talked));
        }
        talk.is_phrase(from)
            || talk.is_act(before, from, talk.you, talk.say, talk.said, said_behind)
            || talk.is_act(before, from, talk.we, talk.talk, talk.talked, talked_behind)
            || from.first().is_some_and(|word| word.is_one_of(talk.said_alone))
            || is_owned(from, talk.your, talk.answers)
            || is_owned(from, talk.our, talk.conversations)
    })
}

impl TalkWords {
    fn is_phrase(&self, from: &[Word]) -> bool {
        let ends = self.phrases.iter().filter_map(|wanted| phrase(from, wanted));
        ends.into_iter().any(|end| !from.get(end).is_some_and(|next| next.is_one_of(self.instruction)))
    }

    /// A subject, then within reach its verb: in the past, or plain with a `did` before the subject.
    /// `past_behind`: the rest of the clause has one in the past.
    fn is_act(
        &self,
        before: &[Word],
        from: &[Word],
        subjects: &[&str],
        plain: &[&str],
        past: &[&str],
        past_behind: bool,
    ) -> bool {
        let Some((subject, after)) = from.split_first() else { return false };
        let addresses = subject.is_proper && subject.is_one_of(self.formal_you) && subjects == self.you;
        if !subject.is_one_of(subjects) && !addresses {
            return false;
        }
        if self.anywhere {
            return past_behind;
        }
        let verb = after.iter().take(REACH + 1).find(|word| !word.is_one_of(self.between));
        let left = before.iter().rev().find(|word| !word.is_one_of(self.articles));
        if left.is_some_and(|word| word.is_one_of(self.said_before)) && subjects == self.you {
            return true;
        }
        let asks_past = left.is_some_and(|word| word.is_one_of(self.did));
        verb.is_some_and(|verb| verb.is_one_of(past) || asks_past && verb.is_one_of(plain))
    }
}

fn is_owned(from: &[Word], owners: &[&str], things: &[&str]) -> bool {
    let Some((owner, after)) = from.split_first() else { return false };
    owner.is_one_of(owners) && after.iter().take(REACH).any(|word| word.is_one_of(things))
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::super::{ENGLISH, GERMAN, SPANISH};
    use super::*;

    fn names(text: &str) -> bool {
        names_earlier_talk(&words(text), Some(&ENGLISH))
    }

    #[test]
    fn what_the_assistant_said_is_recognised() {
        for text in [
            "Can you remind me what the name of the hotel was?",
            "what was the restaurant you recommended",
            "Which book had you suggested to me?",
            "you told me about a museum, which one",
            "What discount did you offer me?",
            "the recipe you've given me",
            "have you ever mentioned a dentist",
            "How many steps did you list for the setup",
            "what did the assistant say about taxes",
            "what was your recommendation for the knee",
            "your second suggestion, please",
            "which command did you show me",
            "who did you say could fix it",
            "the price you quoted",
            "How much did you promise to take off?",
            "what was that restaurant you were telling me about",
            "Didn't you say it was closed?",
            "which one did you think was better",
            "What did you come up with for the logo?",
            "your recipe for lasagne",
            "the tips I got from you",
        ] {
            assert!(names(text), "{text}");
        }
    }

    #[test]
    fn earlier_talk_is_recognised() {
        for text in [
            "In our last chat we planned a menu",
            "about our previous conversation on shoes",
            "what did we discuss about the car",
            "we talked about a hotel",
            "we were talking about shoes",
            "what did we decide about the colour",
            "in an earlier conversation you gave me a list",
            "the previous chat was about ferries",
        ] {
            assert!(names(text), "{text}");
        }
    }

    #[test]
    fn requests_and_the_users_own_words_are_not() {
        for text in [
            "can you recommend a hotel",
            "could you tell me my shoe size",
            "would you suggest red or blue",
            "what do you recommend",
            "will you give me the list",
            "remind me to call mum",
            "what did I tell you about my dog",
            "what did she say to you",
            "where did we go in spring",
            "the place we went to",
            "what did Anna recommend",
            "how was my last therapy session",
            "which offer did I get",
            "our house",
            "your name",
            "",
        ] {
            assert!(!names(text), "{text}");
        }
    }

    #[test]
    fn it_is_silent_without_a_language() {
        assert!(!names_earlier_talk(&words("remind me"), None));
    }

    #[test]
    fn german_verbs_stand_at_the_end() {
        let names = |text: &str| names_earlier_talk(&words(text), Some(&GERMAN));
        for text in [
            "Welches Hotel hast du mir letzte Woche in Wien empfohlen?",
            "was du über den Vertrag gesagt hast",
            "Was haben Sie mir zum Rücken geraten?",
            "dein Vorschlag für das Abendessen",
            "worüber haben wir gestern gesprochen",
            "in unserem letzten Gespräch",
            "Erinnere mich, wie das Restaurant hieß",
        ] {
            assert!(names(text), "{text}");
        }
        for text in [
            "Was habe ich dir über meinen Hund erzählt?",
            "Weißt du, was ich gesagt habe?",
            "weißt du was ich dir erzählt habe",
            "Was haben sie ihr geraten?",
            "Was empfiehlst du mir?",
            "Erinnere mich daran, Mama anzurufen",
            "Wo haben wir gewohnt?",
        ] {
            assert!(!names(text), "{text}");
        }
    }

    #[test]
    fn spanish_verbs_have_their_subject_in_them() {
        let names = |text: &str| names_earlier_talk(&words(text), Some(&SPANISH));
        for text in [
            "¿Qué hotel me recomendaste?",
            "lo que me has dicho del contrato",
            "¿Qué me dijo usted de la espalda?",
            "tu sugerencia para la cena",
            "¿De qué hablamos ayer?",
            "en nuestra última conversación",
            "Recuérdame cómo se llamaba el restaurante",
        ] {
            assert!(names(text), "{text}");
        }
        for text in [
            "¿Qué te dije de mi perro?",
            "¿Qué me recomiendas?",
            "Recuérdame que llame a mamá",
            "¿Dónde vivimos?",
            "tu casa",
        ] {
            assert!(!names(text), "{text}");
        }
    }
}
