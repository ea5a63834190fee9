//! A query cut into words.

/// A run of letters and digits; apostrophes and hyphens separate ("you've" is "you", "ve").
#[derive(Debug)]
pub struct Word {
    pub lower: String,
    /// Its first letter is a capital that no sentence start and no all-capitals text explains.
    pub is_proper: bool,
}

impl Word {
    pub fn is_one_of(&self, list: &[&str]) -> bool {
        list.contains(&self.lower.as_str())
    }

    /// A day or a year in digits, also as "3rd".
    pub fn is_number(&self) -> bool {
        let ordinals = ["st", "nd", "rd", "th"];
        let digits = ordinals.iter().find_map(|end| self.lower.strip_suffix(end)).unwrap_or(&self.lower);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }
}

pub fn words(text: &str) -> Vec<Word> {
    let shouted = !text.chars().any(char::is_lowercase);
    let mut found = Vec::new();
    let mut starts_sentence = true;
    for (before, word) in runs(text) {
        starts_sentence |= before.contains(['.', '!', '?', '\n']);
        let capital = word.starts_with(char::is_uppercase);
        found.push(Word { lower: word.to_lowercase(), is_proper: capital && !starts_sentence && !shouted });
        starts_sentence = false;
    }
    found
}

/// Each word with what stands between it and the word before.
fn runs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (before, from_word) = rest.split_at(rest.find(char::is_alphanumeric)?);
        let end = from_word.find(|c: char| !c.is_alphanumeric()).unwrap_or(from_word.len());
        let (word, after) = from_word.split_at(end);
        rest = after;
        Some((before, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let found: Vec<String> = words("You've said 3rd-rate, größer!").into_iter().map(|word| word.lower).collect();
        assert_eq!(found, ["you", "ve", "said", "3rd", "rate", "größer"]);
    }

    #[test]
    fn a_capital_counts_inside_a_sentence() {
        let proper = |text: &str| words(text).iter().map(|word| word.is_proper).collect::<Vec<_>>();
        assert_eq!(proper("May I, in May? May"), [false, true, false, true, false]);
        assert_eq!(proper("WHO MAY"), [false, false]);
    }

    #[test]
    fn numbers_may_be_ordinal() {
        let numbers = |text: &str| words(text).iter().map(Word::is_number).collect::<Vec<_>>();
        assert_eq!(numbers("3 3rd 2023 third th a3"), [true, true, true, false, false, false]);
    }
}
