//! Words left out of the index, a file per language. A language without a file has none.

/// Separated by white space; lines that start with `#` are remarks.
pub(super) fn words(language: &str) -> impl Iterator<Item = &'static str> {
    let list = match language {
        "dutch" => include_str!("dutch.txt"),
        "english" => include_str!("english.txt"),
        "french" => include_str!("french.txt"),
        "german" => include_str!("german.txt"),
        "italian" => include_str!("italian.txt"),
        "portuguese" => include_str!("portuguese.txt"),
        "russian" => include_str!("russian.txt"),
        "spanish" => include_str!("spanish.txt"),
        "swedish" => include_str!("swedish.txt"),
        _ => "",
    };
    list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}
