//! One spelling for what readers take for the same word: compatibility forms (NFKC), case, apostrophes.
//!
//! Case folding is lower case after NFKC with these rules, the same in every language but Turkish: `ß` and `ẞ` are `ss`,
//! final `ς` is `σ`, `İ`, `I` and `ı` are all `i`. In Turkish `I` is `ı`, and `ı` and `i` stay apart.
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::script::{is_apostrophe, is_ignorable};

/// Replaces `out` with the folded word; apostrophes and the commas of `1,000` are dropped.
pub(super) fn fold(word: &str, turkish: bool, out: &mut String) {
    out.clear();
    if word.is_ascii() && !turkish {
        word.split(['\'', ',']).for_each(|part| out.push_str(part));
        out.make_ascii_lowercase();
    } else {
        let kept = |c: &char| !is_apostrophe(*c) && *c != ',' && !is_ignorable(*c);
        if is_nfkc_quick(word.chars()) == IsNormalized::Yes {
            word.chars().filter(kept).for_each(|c| fold_char(c, turkish, out));
        } else {
            word.nfkc().filter(kept).for_each(|c| fold_char(c, turkish, out));
        }
    }
}

fn fold_char(c: char, turkish: bool, out: &mut String) {
    match c {
        'ß' | 'ẞ' => out.push_str("ss"),
        'ς' => out.push('σ'),
        'İ' => out.push('i'),
        'ı' if !turkish => out.push('i'),
        'I' if turkish => out.push('ı'),
        other => out.extend(other.to_lowercase()),
    }
}

/// The word without what an apostrophe hangs on it: `user's`, `we'll` at the end, `l'homme` in front.
pub(super) fn strip_clitics<'a>(word: &'a str, language: &str) -> &'a str {
    if word.bytes().all(|byte| byte.is_ascii() && byte != b'\'') {
        return word;
    }
    let Some(first) = word.find(is_apostrophe) else { return word };
    if matches!(language, "french" | "italian") {
        return word.get(first..).map_or(word, |rest| rest.trim_start_matches(is_apostrophe));
    }
    let Some((base, tail)) = word.rsplit_once(is_apostrophe) else { return word };
    let english = language == "english" && ["m", "re", "ve", "ll", "d"].iter().any(|t| tail.eq_ignore_ascii_case(t));
    let possessive = language != "none" && tail.eq_ignore_ascii_case("s");
    if english || possessive { base } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(word: &str, turkish: bool) -> String {
        let mut out = String::from("old");
        fold(word, turkish, &mut out);
        out
    }

    #[test]
    fn one_spelling() {
        for (word, expected) in [
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
            ("İstanbul", "istanbul"),
            ("I\u{307}stanbul", "istanbul"),
            ("ISPARTA", "isparta"),
            ("ısparta", "isparta"),
            ("ＡＢＣ１", "abc1"),
            ("ﬁne", "fine"),
            ("cafe\u{301}", "café"),
            ("don't", "dont"),
            ("don’t", "dont"),
            ("1,000", "1000"),
            ("co\u{ad}op", "coop"),
        ] {
            assert_eq!(folded(word, false), expected, "{word}");
        }
        assert_eq!(folded("ISPARTA", true), "ısparta");
        assert_eq!(folded("İzmir", true), "izmir");
    }

    #[test]
    fn clitics() {
        for (word, language, expected) in [
            ("user's", "english", "user"),
            ("WE’LL", "english", "WE"),
            ("don't", "english", "don't"),
            ("o'clock", "english", "o'clock"),
            ("geht's", "german", "geht"),
            ("we'll", "german", "we'll"),
            ("l'homme", "french", "homme"),
            ("dell’arte", "italian", "arte"),
            ("user's", "none", "user's"),
        ] {
            assert_eq!(strip_clitics(word, language), expected, "{word}");
        }
    }
}
