//! How many tokens a text takes, near enough to pack by, without a vocabulary.
//!
//! Each character costs hundredths of a token, by what it is and by what stands before it on its line. The costs were fitted to
//! what `cl100k_base`, `o200k_base`, Claude 2's and `DeepSeek`'s vocabularies make of English chat, 80 other languages, code and
//! noise, so that the estimate rarely falls below the greatest of the four. `scripts/calibrate_tokens.py` measures it.
//!
//! What callers may build on:
//! - `units("") == 0`, and `units(a + "\n" + b) == units(a) + NEWLINE_UNITS + units(b)` for any `a` and `b`, so a packer
//!   adds up lines and is exact. Only `\n` ends a line. `estimate` rounds up and is not additive: add units, round once.
//! - Text put after or before another never lowers it: `units(a + b) >= max(units(a), units(b))`.

/// Version of the estimate; stored with the counts made by it.
pub const TOKENS_VERSION: i64 = 1;
pub const UNITS_PER_TOKEN: u64 = 100;
/// What a line break costs.
pub const NEWLINE_UNITS: u64 = 30;
/// What the first character of a line costs on top: it has no neighbour to share a token with.
const LINE_START_UNITS: u64 = 30;

/// `ceil(units / UNITS_PER_TOKEN)`; 0 for an empty text only.
#[must_use]
pub fn estimate(text: &str) -> u32 {
    tokens_for(units(text))
}

/// Units that were added up, in tokens.
#[must_use]
pub fn tokens_for(units: u64) -> u32 {
    u32::try_from(units.div_ceil(UNITS_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// Hundredths of a token; see the head of the module for what holds.
#[must_use]
pub fn units(text: &str) -> u64 {
    let mut line = Line::default();
    text.chars().map(|c| if c == '\n' { line.end() } else { line.push(c) }).sum()
}

/// What of a line decides the cost of its next character.
#[derive(Default)]
struct Line {
    last: Option<(char, Kind)>,
    /// Letters before `last` in its word.
    inner: bool,
    /// Digits of the group of three that `last` is in.
    digits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Blank,
    Punctuation,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            ' ' | '\t' => Self::Blank,
            '!'..='~' => Self::Punctuation,
            _ => Self::Other,
        }
    }

    fn is_letter(self) -> bool {
        matches!(self, Self::Lower | Self::Upper)
    }
}

impl Line {
    fn end(&mut self) -> u64 {
        *self = Self::default();
        NEWLINE_UNITS
    }

    fn push(&mut self, c: char) -> u64 {
        // Most of a text: small letters behind small letters.
        if let ('a'..='z', Some((last, Kind::Lower))) = (c, self.last) {
            (self.last, self.inner) = (Some((c, Kind::Lower)), true);
            return inside_a_word(pair_level(last, c));
        }
        let kind = Kind::of(c);
        let cost = match kind {
            Kind::Lower | Kind::Upper => self.letter(c, kind),
            Kind::Digit => self.digit(),
            Kind::Blank => self.blank(c),
            Kind::Punctuation => self.punctuation(c),
            Kind::Other => other_cost(c),
        };
        let start = if self.last.is_none() { LINE_START_UNITS } else { 0 };
        self.last = Some((c, kind));
        start + cost
    }

    fn last_kind(&self) -> Option<Kind> {
        self.last.map(|(_, kind)| kind)
    }

    /// A word is one token and more for pairs of letters at which words are cut, for humps and capitals.
    fn letter(&mut self, c: char, kind: Kind) -> u64 {
        let was_inner = self.inner;
        self.inner = self.last_kind().is_some_and(Kind::is_letter);
        let Some((last, last_kind)) = self.last.filter(|(_, kind)| kind.is_letter()) else { return 65 };
        let pair = pair_level(last, c);
        match (last_kind, kind) {
            (Kind::Lower, Kind::Upper) => 152,
            (_, Kind::Upper) if pair < 2 => 35,
            (_, Kind::Upper) => 76,
            (Kind::Upper, _) if was_inner => 2,
            _ => inside_a_word(pair),
        }
    }

    /// Vocabularies take up to three digits at a time, and no blank before them.
    fn digit(&mut self) -> u64 {
        self.digits = if self.last_kind() == Some(Kind::Digit) { self.digits % 3 + 1 } else { 1 };
        match (self.digits, self.last_kind()) {
            (1, Some(Kind::Blank)) => 214,
            (1, _) => 105,
            _ => 10,
        }
    }

    /// One blank belongs to the word after it.
    fn blank(&self, c: char) -> u64 {
        match self.last_kind() {
            Some(Kind::Blank) | None => 14,
            _ if c == '\t' => 14,
            _ => 0,
        }
    }

    fn punctuation(&self, c: char) -> u64 {
        match self.last {
            Some((last, _)) if last == c => 12,
            Some((_, Kind::Punctuation)) => 75,
            _ => 89,
        }
    }
}

fn inside_a_word(pair_level: usize) -> u64 {
    [2, 22, 67, 112].get(pair_level).copied().unwrap_or(112)
}

/// Beyond ASCII, and control characters: by script.
fn other_cost(c: char) -> u64 {
    match c as u32 {
        0x0D => 14,                               // carriage return; no less than the blank it may stand before
        0x00..=0x9F => 200,                       // control
        0xA0..=0xBF => 133,                       // Latin-1 signs
        0xC0..=0xFF => 142,                       // Latin-1 letters
        0x100..=0x24F => 165,                     // Latin Extended
        0x300..=0x36F => 206,                     // combining marks
        0x370..=0x3FF => 135,                     // Greek
        0x410..=0x44F => 78,                      // Cyrillic, as in Russian
        0x400..=0x52F => 222,                     // Cyrillic of other languages
        0x530..=0x58F | 0x980..=0x9FF => 210,     // Armenian, Bengali
        0x590..=0x5FF => 124,                     // Hebrew
        0x600..=0x6FF => 137,                     // Arabic
        0x900..=0x97F => 141,                     // Devanagari
        0xA00..=0xDFF => 236,                     // other scripts of India
        0xE00..=0xE7F => 193,                     // Thai
        0x10A0..=0x10FF => 207,                   // Georgian
        0x1780..=0x17FF => 302,                   // Khmer
        0x1E00..=0x1EFF => 256,                   // Latin for Vietnamese
        0x2010..=0x2027 => 92,                    // dashes, quotes, ellipsis
        0x2000..=0x206F => 232,                   // joiners and the like
        0x2500..=0x259F | 0xFF00..=0xFFEF => 192, // boxes, full width
        0x2070..=0x2FFF => 264,                   // symbols
        0x3000..=0x303F => 60,                    // CJK punctuation
        0x3040..=0x30FF => 126,                   // Kana
        0x4E00..=0x9FFF => 170,                   // Han
        0xAC00..=0xD7A3 => 158,                   // Hangul
        0xFE00..=0xFE0F => 62,                    // variation selectors
        0x1_F000..=0x1_FAFF => 273,               // emoji
        0x250..=0x8FF => 195,                     // other two-byte scripts
        0x0001_0000.. => 382,                     // four bytes
        _ => 287,                                 // three bytes
    }
}

/// 0 to 3: how likely a word is cut between these two letters, whatever their case.
fn pair_level(first: char, second: char) -> usize {
    let index = |letter: char| u32::from(letter.to_ascii_lowercase()).wrapping_sub(u32::from('a'));
    PAIR_LEVELS.get(index(first) as usize).map_or(3, |row| (row >> (2 * index(second).min(25)) & 3) as usize)
}

/// A row for each first letter, two bits for each second one, `a` lowest.
const PAIR_LEVELS: [u64; 26] = [
    0x4_b613_b21e_0b13, // a
    0xc_f9cb_9f21_fcae, // b
    0xc_aa06_8f09_aca8, // c
    0x9_e2ce_ea72_c5e6, // d
    0xc_1344_357e_f50c, // e
    0x8_fc37_ce3c_e0fc, // f
    0xf_bf63_10fd_65ff, // g
    0xa_be47_c03c_fcf0, // h
    0x7_f318_01af_d509, // i
    0xa_e79b_d8ef_a9e9, // j
    0xe_ffce_73be_603f, // k
    0x8_958a_062d_3072, // l
    0x8_f98f_08fd_ecf9, // m
    0xa_bb0f_3f9e_410d, // n
    0xc_8013_00ae_934a, // o
    0xd_b202_0c3d_612a, // p
    0xb_e8fa_be6f_fbbb, // q
    0x8_e648_124d_c08d, // r
    0x8_9c4c_9fed_91de, // s
    0xc_ce47_1aac_15d2, // t
    0x8_3a03_3439_c48a, // u
    0xe_effe_beee_c8fe, // v
    0xa_9cca_c22c_28ba, // w
    0xb_bb36_3fa9_2eca, // x
    0x3_ff8e_4cfc_bfcb, // y
    0xf_fa5e_6afb_edfe, // z
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_is_nothing_and_anything_is_something() {
        assert_eq!((units(""), estimate("")), (0, 0));
        for text in ["a", " ", "\n", "\r", ".", "1", "é", "\0", "\u{10ffff}"] {
            assert!(units(text) > 0 && estimate(text) > 0, "{text:?}");
        }
    }

    #[test]
    fn english_prose_takes_about_a_token_for_four_characters() {
        let text = "I was thinking about the report that you sent me last week, and I would like to have it as a PDF.";
        let ratio = text.len() as f64 / f64::from(estimate(text));
        assert!((3.4..5.0).contains(&ratio), "{ratio}");
    }

    /// Text and its greatest count by the four vocabularies.
    #[test]
    fn never_under_four_fifths_of_a_real_count() {
        for (text, real) in [
            ("我昨天在北京的图书馆借了三本书，今天打算去上海看望我的老朋友。", 37),
            ("昨日は東京タワーへ行きました。とても楽しかったです。", 27),
            ("어제 서울에 있는 도서관에서 책을 세 권 빌렸습니다.", 30),
            ("เมื่อวานฉันไปเที่ยวเชียงใหม่กับเพื่อนสนิท", 78),
            ("Вчера мы встретились с друзьями в парке и говорили о книгах.", 37),
            ("ذهبت أمس إلى المكتبة مع أصدقائي لقراءة الكتب", 42),
            ("मैं कल अपने दोस्तों के साथ दिल्ली गया था", 40),
            ("Χθες πήγα στη βιβλιοθήκη με τους φίλους μου", 49),
            ("Gestern habe ich mit meinen Freunden über die Straßenbahn gesprochen.", 19),
            ("Great trip! 😀👍🏽🎉👩‍💻🇫🇷❤️", 29),
            ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", 34),
            ("3f9a0c7be1d24586a7f0e9c81b2d3e4f", 27),
            ("def mean(xs: list[float]) -> float:\n    return sum(xs) / len(xs)", 23),
            ("https://www.example.com/docs/index.html?id=1042&ref=aXk3", 25),
            ("3141592653589793238462643383279502884197", 17),
            ("{\"id\": 1042, \"tags\": [\"a\", \"b\"], \"ok\": true}", 21),
        ] {
            let got = estimate(text);
            assert!(f64::from(got) >= 0.8 * f64::from(real) && got <= 2 * real + 2, "{got} for {real}: {text}");
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,30}",
            "[a-cA-C0-9 .\\-\\t\\n\\r]{0,30}",
            "[a-zé一-丕ぁ-ん가-각а-яא-ת😀-😎\u{300}\u{200d}\n ]{0,30}"
        ]
    }

    /// `cargo test --release -p retentive-core speed_of_estimate -- --ignored --nocapture`
    #[test]
    #[ignore = "a measurement"]
    fn speed_of_estimate() {
        let text = "I was thinking about the report that you sent me last week, as a PDF. ".repeat(1000);
        let start = std::time::Instant::now();
        let units = std::hint::black_box(units(std::hint::black_box(&text)));
        println!("{:?} for {} characters, {units} units", start.elapsed(), text.len());
    }

    #[test]
    fn a_carriage_return_before_a_blank_costs_no_less_than_the_blank() {
        assert!(units("\r ") >= units(" "));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn lines_add_up(a in any_text(), b in any_text()) {
            prop_assert_eq!(units(&format!("{a}\n{b}")), units(&a) + NEWLINE_UNITS + units(&b));
        }

        #[test]
        fn more_text_never_lowers_it(a in any_text(), b in any_text()) {
            let joined = units(&format!("{a}{b}"));
            prop_assert!(joined >= units(&a) && joined >= units(&b), "{a:?} {b:?}");
        }
    }
}
