//! A text as its sentences: pieces that put together are the text, to the byte.
use unicode_segmentation::UnicodeSegmentation;

use super::render::is_break;

/// No sentence needs more, and no piece is longer: 60 tokens of English.
const LONGEST_BYTES: usize = 240;

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 26] = [
    "approx", "ave", "bzw", "ca", "cf", "dept", "dr", "etc", "gen", "inc", "jr", "ltd", "mr", "mrs", "ms", "mt",
    "prof", "rev", "sr", "sra", "st", "tel", "usw", "vgl", "vs", "zb",
];
/// The same, where a number follows.
const ABBREVIATIONS_BEFORE_NUMBERS: [&str; 8] = ["art", "fig", "nr", "no", "núm", "p", "pp", "vol"];

/// Sentences with the white space after them. Line breaks end one too, so list items and lines of code are pieces; what is
/// longer than any sentence is cut at word borders, and what has no word (`---`, an emoji) belongs to what stands before it.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut seen, mut has_word) = (0, 0, false);
    for end in ends(text).into_iter().chain([text.len()]) {
        let adds_word = text.get(seen..end).is_some_and(|part| part.contains(char::is_alphanumeric));
        if has_word && adds_word {
            cut(text.get(start..seen).unwrap_or_default(), &mut pieces);
            start = seen;
        }
        has_word |= adds_word;
        seen = end;
    }
    cut(text.get(start..).unwrap_or_default(), &mut pieces);
    pieces
}

/// Where sentences end, by rising byte.
fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let is_mark = is_stop(c) || is_wide_stop(c);
        let mut after = at + c.len_utf8();
        let mut last = c;
        let goes_on = |c: &(usize, char)| is_stop(c.1) || is_wide_stop(c.1) || is_closer(c.1);
        while let Some((at, c)) = characters.next_if(|next| is_mark && goes_on(next)) {
            (after, last) = (at + c.len_utf8(), c);
        }
        let rest = text.get(after..).unwrap_or_default();
        let before = text.get(start..at).unwrap_or_default();
        let is_end = if is_stop(c) {
            rest.starts_with(char::is_whitespace)
                && ends_sentence(before, c, (after - at > c.len_utf8()).then_some(last), rest)
        } else {
            is_mark || is_break(c)
        };
        if is_end {
            start = text.len() - rest.trim_start().len(); // looked for here alone: white space may be long
            while characters.next_if(|(at, _)| *at < start).is_some() {}
            ends.push(start);
        }
    }
    ends
}

/// Ends a sentence where white space follows.
fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…')
}

/// Ends a sentence wherever it stands.
fn is_wide_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '؟' | '۔' | '।' | '॥' | '።' | '։')
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | ')' | ']' | '}' | '*' | '_' | '~' | '”' | '’' | '»' | '」' | '』' | '）' | '】' | '〉' | '》'
    )
}

/// Whether `stop` ends a sentence, between `before` (the sentence so far) and `rest` (from the white space on); `last` is the last
/// of the marks where there are more.
fn ends_sentence(before: &str, stop: char, last: Option<char>, rest: &str) -> bool {
    if rest.trim_start_matches([' ', '\t']).starts_with(is_break) {
        return true;
    }
    let next = rest.trim_start().chars().next().unwrap_or_default();
    if stop != '.' || last.is_some() {
        let trails_off = stop == '…' || last.is_some_and(|last| last == '.' || is_closer(last));
        return !(trails_off && next.is_lowercase());
    }
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_abbreviation = ABBREVIATIONS.contains(&word.as_str())
        || word.contains('.') && word.chars().all(|c| c.is_alphabetic() || c == '.')
        || word.chars().count() == 1 && word.chars().all(char::is_alphabetic)
        || next.is_numeric() && ABBREVIATIONS_BEFORE_NUMBERS.contains(&word.as_str());
    !(is_abbreviation || is_item(before))
}

/// `1.` at the start of a line is the mark of what follows. Read from its end: what it starts with may be long, and other stops may
/// have looked at it.
fn is_item(before: &str) -> bool {
    let number = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    let rest = number.trim_end_matches(|c: char| c.is_ascii_digit());
    (1..=3).contains(&(number.len() - rest.len())) && !rest.chars().rev().any(char::is_alphanumeric)
}

/// Cuts what is too long into pieces of about one length, after white space where there is some.
fn cut<'a>(piece: &'a str, pieces: &mut Vec<&'a str>) {
    let count = piece.len().div_ceil(LONGEST_BYTES);
    if count <= 1 {
        pieces.extend(Some(piece).filter(|piece| !piece.is_empty()));
        return;
    }
    let (enough, mut start, mut end) = (piece.len().div_ceil(count), 0, 0);
    for atom in atoms(piece) {
        let is_full = end > start && end - start + atom.len() > LONGEST_BYTES;
        let is_border =
            end - start >= enough && piece.get(..end).is_some_and(|done| done.ends_with(char::is_whitespace));
        if is_full || is_border {
            pieces.extend(piece.get(start..end));
            start = end;
        }
        end += atom.len();
    }
    pieces.extend(piece.get(start..).filter(|rest| !rest.is_empty()));
}

/// Words and what stands between them; what is no word of any language, by character.
fn atoms(text: &str) -> impl Iterator<Item = &str> {
    text.split_word_bounds().flat_map(|word| {
        let (whole, parts) = if word.len() > LONGEST_BYTES { ("", word) } else { (word, "") };
        std::iter::once(whole).filter(|whole| !whole.is_empty()).chain(parts.graphemes(true))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentences_end_at_stops_before_white_space() {
        for (text, expected) in [
            ("One. Two! Three? Four", vec!["One. ", "Two! ", "Three? ", "Four"]),
            (
                "He said \"no.\" Then (at last!) he left...  Gone.",
                vec!["He said \"no.\" ", "Then (at last!) he left...  ", "Gone."],
            ),
            ("**Bold.** Next", vec!["**Bold.** ", "Next"]),
            ("Wait... what?!  Yes", vec!["Wait... what?!  ", "Yes"]),
            ("so i left. it rained. why? no idea", vec!["so i left. ", "it rained. ", "why? ", "no idea"]),
        ] {
            assert_eq!(sentences(text), expected);
        }
    }

    #[test]
    fn abbreviations_numbers_and_names_end_nothing() {
        for text in [
            "Dr. Smith met J. Doe at 7 a.m. sharp",
            "It costs 3.50 or v1.2.3 on example.com today",
            "See fig. 3, no. 7, e.g. The Hague",
            "we waited... and waited … and left",
        ] {
            assert_eq!(sentences(text), [text]);
        }
        assert_eq!(sentences("I said no. Then 5 came."), ["I said no. ", "Then 5 came."]);
        assert_eq!(sentences("It was 1998. Then 5 came."), ["It was 1998. ", "Then 5 came."]);
    }

    #[test]
    fn lines_and_list_items_are_pieces() {
        let text = "Steps:\n1. Mix it. Well.\n2. Bake\n\n- a\n  - b\r\n---\nend";
        let expected = ["Steps:\n", "1. Mix it. ", "Well.\n", "2. Bake\n\n- a\n  - b\r\n---\nend"];
        let got = sentences(text);
        assert_eq!(got.get(..3), expected.get(..3));
        assert_eq!(got.get(3..), Some(&["2. Bake\n\n", "- a\n  ", "- b\r\n---\n", "end"][..]));
    }

    #[test]
    fn other_scripts_have_their_own_stops() {
        assert_eq!(sentences("我昨天去了。你呢？好！"), ["我昨天去了。", "你呢？", "好！"]);
        assert_eq!(sentences("彼は「行く。」と言った。終わり"), ["彼は「行く。」", "と言った。", "終わり"]);
        assert_eq!(sentences("هل أنت هنا؟ نعم"), ["هل أنت هنا؟ ", "نعم"]);
        assert_eq!(sentences("मैं गया। वह आया।"), ["मैं गया। ", "वह आया।"]);
    }

    #[test]
    fn what_has_no_end_is_cut_at_word_borders() {
        let words = "word ".repeat(100);
        let got = sentences(&words);
        assert_eq!(got.len(), 3);
        assert!(got.iter().all(|piece| piece.ends_with("word ")));
        let blob = "x".repeat(1000);
        assert_eq!(sentences(&blob).len(), 5);
        let han = "我".repeat(200);
        assert!(sentences(&han).iter().all(|piece| piece.len() <= LONGEST_BYTES));
    }

    #[test]
    fn what_has_no_word_stays_with_what_has() {
        assert_eq!(sentences(""), [""; 0]);
        assert_eq!(sentences("--- \n\n"), ["--- \n\n"]);
        assert_eq!(sentences("\n\n* * *\nHi there.\n😀\n"), ["\n\n* * *\nHi there.\n😀\n"]);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(text in "(\\PC|[.!?。 \n\r\u{2028}*\"')-]|[a-z]{1,9}|[0-9]|Dr\\.|[ \t]{1,3}){0,400}") {
            let got = sentences(&text);
            prop_assert_eq!(got.concat(), text.clone());
            prop_assert!(got.iter().all(|piece| !piece.is_empty()));
            prop_assert_eq!(got, sentences(&text));
        }

        #[test]
        fn no_piece_of_text_without_marks_is_long(text in "[a-z 我]{0,900}") {
            prop_assert!(sentences(&text).iter().all(|piece| piece.len() <= LONGEST_BYTES));
        }
    }
}
