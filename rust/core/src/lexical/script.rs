//! What kind of character this is, for splitting. Ranges are those of Unicode 16 blocks.
use unicode_normalization::char::is_combining_mark;

/// Part of a script written without spaces between words (Han, Kana, Bopomofo, Hangul, Thai, Lao, Khmer, Myanmar).
/// Korean has spaces, but its endings stick to the words, so it is treated alike.
pub(super) fn is_gram(c: char) -> bool {
    let code = c as u32;
    code >= 0x0E01 && (is_southeast_asian(code) || is_hangul(code) || is_kana(code) || is_han(code))
}

fn is_southeast_asian(code: u32) -> bool {
    let thai = matches!(code, 0x0E01..=0x0E3A | 0x0E40..=0x0E4E);
    let lao = matches!(code, 0x0E81..=0x0ECF | 0x0EDC..=0x0EDF);
    let khmer = matches!(code, 0x1780..=0x17D3 | 0x17D7 | 0x17DC..=0x17DD);
    let myanmar =
        matches!(code, 0x1000..=0x103F | 0x1050..=0x109F | 0xA9E0..=0xA9EF | 0xA9FA..=0xA9FE | 0xAA60..=0xAA7F);
    thai || lao || khmer || myanmar
}

fn is_hangul(code: u32) -> bool {
    matches!(code, 0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97C | 0xAC00..=0xD7FB | 0xFFA0..=0xFFDC)
}

/// With Bopomofo.
fn is_kana(code: u32) -> bool {
    let kana = matches!(code, 0x3041..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F);
    kana || matches!(code, 0x3105..=0x312F | 0x31A0..=0x31BF | 0x1_B000..=0x1_B16F)
}

fn is_han(code: u32) -> bool {
    let radicals_and_marks = matches!(code, 0x2E80..=0x2FD5 | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3038..=0x303C);
    radicals_and_marks || matches!(code, 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFD)
}

/// A letter, a digit or an ideograph.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_gram(c)
}

/// Continues a word or an emoji without being one: accents, vowel signs, joiners, variation selectors.
pub(super) fn continues(c: char) -> bool {
    is_ignorable(c) || matches!(c, '\u{b7}' | '\u{5f3}' | '\u{5f4}') || is_combining_mark(c)
}

/// Never part of a term: soft hyphen, tatweel, zero-width spaces and joiners, variation selectors.
pub(super) fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{640}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// Emoji, arrows, signs of currency and mathematics: a term each.
pub(super) fn is_symbol(c: char) -> bool {
    let code = c as u32;
    let latin = matches!(code, 0xA2..=0xA6 | 0xA9 | 0xAC | 0xAE | 0xB0 | 0xB1 | 0xD7 | 0xF7);
    let emoji = matches!(code, 0x1_F000..=0x1_FAFF);
    latin || emoji || matches!(code, 0x0E3F | 0x20A0..=0x20CF | 0x2100..=0x214F | 0x2190..=0x27BF | 0x2900..=0x2BFF)
}

/// Half of a flag, or a skin tone: nothing by itself.
pub(super) fn is_emoji_modifier(c: char) -> bool {
    matches!(c as u32, 0x1_F1E6..=0x1_F1FF | 0x1_F3FB..=0x1_F3FF)
}
