//! What of a long memory to pack: its sentences that answer the query best, in their order.
use super::sentences::sentences;
use crate::tokens;

/// Stands for what was left out.
const ELLIPSIS: char = '…';
/// A memory may take this part of the room that is left (docs/adr/0030-excerpts.md).
const SHARE: u64 = 4;
/// An excerpt shorter than this says too little.
const SHORTEST_TOKENS: u64 = 40;
/// The shortest excerpt with its speaker and its date.
const SHORTEST_LINE_TOKENS: u64 = 50;

/// How many tokens of a memory may be packed before it is excerpted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// A quarter of the room that is left, at least 40; and whole after all where room remains in the end.
    Auto,
    Tokens(u64),
}

impl Length {
    /// What a long memory may be cut to where there is little room.
    #[must_use]
    pub fn shortest(self) -> u64 {
        self.within(0)
    }

    fn within(self, room: u64) -> u64 {
        match self {
            Self::Auto => (room / SHARE).max(SHORTEST_TOKENS),
            Self::Tokens(tokens) => tokens,
        }
    }
}

/// How well each sentence of a memory answers the query.
pub type Answers<'a, E> = dyn FnMut(&[&str]) -> Result<Vec<f32>, E> + 'a;

/// How long memories are excerpted.
pub struct Excerpting<'a, E> {
    pub length: Length,
    pub answers: &'a mut Answers<'a, E>,
}

impl<E> std::fmt::Debug for Excerpting<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Excerpting").field("length", &self.length).finish_non_exhaustive()
    }
}

impl<E> Excerpting<'_, E> {
    /// The excerpt of a memory where `room` tokens are left; `None` for one that is short enough, or a single sentence, and where
    /// there is no room for any. It counts no more than the length, unless its best sentence alone does.
    pub fn excerpt(
        &mut self,
        text: &str,
        room: u64,
        count: &mut dyn FnMut(&str) -> Result<u64, E>,
    ) -> Result<Option<String>, E> {
        let length = self.length.within(room);
        if self.length == Length::Auto && room < SHORTEST_LINE_TOKENS {
            return Ok(None);
        }
        let whole = count(text)?;
        if whole <= length {
            return Ok(None);
        }
        let sentences = sentences(text);
        let scores = if sentences.len() > 1 { (self.answers)(&sentences)? } else { Vec::new() };
        let kept = choose(&scores, &shares(whole, &sentences), length);
        if kept.is_empty() {
            return Ok(None);
        }
        longest(kept.len(), |many| {
            let excerpt = joined(&sentences, kept.get(..many).unwrap_or_default());
            Ok((many == 1 || count(&excerpt)? <= length).then_some(excerpt))
        })
    }
}

/// The first of these that fits, from `most` downwards; 1 does. Few are tried: the step doubles until one fits, and is halved again.
fn longest<T, E>(most: usize, mut fitting: impl FnMut(usize) -> Result<Option<T>, E>) -> Result<Option<T>, E> {
    let (mut over, mut tried, mut step) = (most + 1, most, 1);
    let mut found = fitting(tried)?;
    while found.is_none() && tried > 1 {
        over = tried;
        tried = tried.saturating_sub(step).max(1);
        step *= 2;
        found = fitting(tried)?;
    }
    while over - tried > 1 {
        let middle = tried + (over - tried) / 2;
        match fitting(middle)? {
            Some(better) => (found, tried) = (Some(better), middle),
            None => over = middle,
        }
    }
    Ok(found)
}

/// What each sentence has of the tokens of the whole, in proportion to the built-in estimate.
fn shares(whole: u64, sentences: &[&str]) -> Vec<u64> {
    let units: Vec<u64> = sentences.iter().map(|sentence| tokens::units(sentence)).collect();
    let total = u128::from(units.iter().sum::<u64>()).max(1);
    let share = |units: &u64| (u128::from(whole) * u128::from(*units)).div_ceil(total);
    units.iter().map(|units| u64::try_from(share(units)).unwrap_or(u64::MAX)).collect()
}

/// The sentences to keep, best first: the best one always, then each that fits the rest of the length. The earlier of equals
/// is the better.
#[must_use]
pub fn choose(scores: &[f32], tokens: &[u64], length: u64) -> Vec<usize> {
    let mut ranked: Vec<(usize, f32, u64)> =
        scores.iter().zip(tokens).enumerate().map(|(index, (score, tokens))| (index, *score, *tokens)).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (mut kept, mut used) = (Vec::new(), 0_u64);
    for (index, _, tokens) in ranked {
        let with = used.saturating_add(tokens);
        if kept.is_empty() || with <= length {
            kept.push(index);
            used = with;
        }
    }
    kept
}

/// The kept sentences in their order, with what stands between neighbours, an ellipsis for each gap.
#[must_use]
pub fn joined(sentences: &[&str], kept: &[usize]) -> String {
    let mut out = String::new();
    let mut next = 0;
    let mut order = kept.to_vec();
    order.sort_unstable();
    for index in order {
        let Some(sentence) = sentences.get(index) else { continue };
        let follows = index == next && index > 0;
        if index > next {
            push_gap(&mut out);
            out.push(' ');
        }
        out.push_str(if follows { sentence } else { sentence.trim_start() });
        next = index + 1;
    }
    if next < sentences.len() {
        push_gap(&mut out);
    }
    out.truncate(out.trim_end().len());
    out
}

fn push_gap(out: &mut String) {
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push(' ');
    }
    out.push(ELLIPSIS);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "I went home. The cat sat on the mat. It rained.\nBread was cheap! Then I slept.";

    /// Excerpts by how often a sentence says `word`, counted in words.
    fn excerpted(text: &str, word: &str, length: Length, room: u64) -> Option<String> {
        let mut answers = |sentences: &[&str]| -> Result<Vec<f32>, ()> {
            Ok(sentences.iter().map(|sentence| sentence.matches(word).count() as f32).collect())
        };
        let mut excerpting = Excerpting { length, answers: &mut answers };
        excerpting.excerpt(text, room, &mut |text| Ok(text.split_whitespace().count() as u64)).unwrap()
    }

    #[test]
    fn gaps_are_marked() {
        for (word, length, expected) in
            [("cat", 8, "… The cat sat on the mat. …"), ("home", 4, "I went home. …"), ("slept", 4, "… Then I slept.")]
        {
            assert_eq!(excerpted(TEXT, word, Length::Tokens(length), 0).as_deref(), Some(expected));
        }
        assert_eq!(joined(&["A. ", "B.\n", "C. ", "D."], &[1, 2]), "… B.\nC. …");
        assert_eq!(joined(&["A. ", "B. ", "C. ", "D."], &[3, 0]), "A. … D.");
    }

    #[test]
    fn what_is_short_enough_is_whole() {
        assert_eq!(excerpted(TEXT, "cat", Length::Tokens(18), 0), None);
        assert_eq!(excerpted(TEXT, "cat", Length::Auto, 1000), None);
        assert_eq!(excerpted("one single sentence without end", "one", Length::Tokens(2), 0), None);
    }

    #[test]
    fn the_best_sentence_is_kept_whatever_its_length() {
        assert_eq!(excerpted(TEXT, "cat", Length::Tokens(1), 0).as_deref(), Some("… The cat sat on the mat. …"));
    }

    #[test]
    fn the_length_is_a_quarter_of_the_room() {
        let text = "A few words. ".repeat(100);
        for (room, words) in [(50, 40), (100, 40), (400, 100), (1000, 250)] {
            let got = excerpted(&text, "few", Length::Auto, room).unwrap().split_whitespace().count();
            assert!(got <= words && got + 4 > words, "{got} of {words}");
        }
    }

    #[test]
    fn where_no_room_is_left_no_sentence_is_looked_at() {
        assert_eq!(excerpted(&"A few words. ".repeat(100), "few", Length::Auto, 49), None);
    }

    #[test]
    fn of_many_sentences_few_excerpts_are_tried() {
        for most in 1..200 {
            for last in 1..=most {
                let mut tries = 0;
                let got = longest(most, |many| -> Result<_, ()> {
                    tries += 1;
                    Ok((many <= last).then_some(many))
                });
                assert!(got == Ok(Some(last)) && tries <= 16, "{got:?} of {most} in {tries}");
            }
        }
    }

    #[test]
    fn scores_that_fail_fail_the_excerpt() {
        let mut excerpting = Excerpting { length: Length::Tokens(1), answers: &mut |_| Err("no") };
        assert_eq!(excerpting.excerpt(TEXT, 0, &mut |_| Ok(9)), Err("no"));
    }

    /// The best that is left and fits, again and again.
    fn naive(scores: &[f32], tokens: &[u64], length: u64) -> Vec<usize> {
        let mut kept: Vec<usize> = Vec::new();
        loop {
            let used: u64 = kept.iter().map(|i| tokens[*i]).sum();
            let fits = |i: &usize| !kept.contains(i) && (kept.is_empty() || used + tokens[*i] <= length);
            let best = (0..scores.len()).filter(fits).fold(None, |best: Option<usize>, i| match best {
                Some(best) if scores[best] >= scores[i] => Some(best),
                _ => Some(i),
            });
            match best {
                Some(best) => kept.push(best),
                None => return kept,
            }
        }
    }

    proptest! {
        #[test]
        fn a_choice_is_greedy_by_score(
            sentences in prop::collection::vec((0_u8..6, 0_u64..20), 0..25), length in 0_u64..80
        ) {
            let scores: Vec<f32> = sentences.iter().map(|(score, _)| f32::from(*score)).collect();
            let tokens: Vec<u64> = sentences.iter().map(|(_, tokens)| *tokens).collect();
            prop_assert_eq!(choose(&scores, &tokens, length), naive(&scores, &tokens, length));
        }

        #[test]
        fn an_excerpt_is_the_memorys_own_words_in_order(text in "([a-c]{1,5}[.!?]?[ \n]{1,2}){0,40}", length in 0_u64..30) {
            let Some(got) = excerpted(&text, "a", Length::Tokens(length), 0) else { return Ok(()) };
            let mut rest = text.as_str();
            for part in got.split('…').map(str::trim).filter(|part| !part.is_empty()) {
                let at = rest.find(part);
                prop_assert!(at.is_some(), "{part:?} in {rest:?}");
                rest = &rest[at.unwrap_or_default() + part.len()..];
            }
        }
    }
}
