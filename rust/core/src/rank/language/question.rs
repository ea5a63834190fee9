//! How much of a text asks.

const MARKS: [char; 3] = ['?', '？', '؟'];

/// Share of a text's characters (without white space) that stand in sentences ending in a question mark, 0 to 1.
pub fn question_share(text: &str) -> f32 {
    if !MARKS.iter().any(|mark| text.contains(*mark)) {
        return 0.0;
    }
    let (mut asked, mut all) = (0_usize, 0_usize);
    for sentence in sentences(text) {
        let characters = sentence.chars().filter(|c| !c.is_whitespace()).count();
        all += characters;
        asked += if sentence.trim_end_matches(closes).ends_with(asks) { characters } else { 0 };
    }
    if all == 0 { 0.0 } else { asked as f32 / all as f32 }
}

/// Cut after sentence marks with what closes them, and at line breaks.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mark = rest.find(ends).unwrap_or(rest.len());
        let after = rest.get(mark..).unwrap_or_default().trim_start_matches(|c| ends(c) || closes(c));
        let (sentence, left) = rest.split_at(rest.len() - after.len());
        rest = left;
        Some(sentence)
    })
}

fn asks(c: char) -> bool {
    MARKS.contains(&c)
}

fn ends(c: char) -> bool {
    asks(c) || matches!(c, '.' | '!' | '。' | '！' | '\n')
}

fn closes(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '」' | '!')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_alone_is_all_of_it() {
        for text in ["Really?", "What is it??", "你好吗？", "Who (said \"that?\")"] {
            assert!((question_share(text) - 1.0).abs() < 1e-6, "{text}");
        }
    }

    #[test]
    fn statements_ask_nothing() {
        for text in ["", " \n", "I know.", "No! Never", "是的。"] {
            assert!(question_share(text).abs() < 1e-6, "{text}");
        }
    }

    #[test]
    fn a_question_after_a_statement_is_its_share() {
        assert!((question_share("Yes I am. Are you?") - 7.0 / 14.0).abs() < 1e-6);
        assert!((question_share("Are you? Yes I am.") - 7.0 / 14.0).abs() < 1e-6);
        assert!((question_share("a heading\nok?") - 3.0 / 11.0).abs() < 1e-6);
    }
}
