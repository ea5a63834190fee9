//! How a memory reads in a block.
use super::date::iso_day;

/// What a line needs of a memory.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The memory's text, or the excerpt of it that is packed.
    pub text: &'a str,
    pub role: &'a str,
    /// The speaker, where one was given.
    pub name: Option<&'a str>,
    /// Microseconds UTC.
    pub ts: i64,
}

/// The parts of a block, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Section {
    Pinned,
    Recent,
    Retrieved,
}

/// Continues a memory after one of its own line breaks: no heading and no speaker starts with white space.
const CONTINUED: &str = "\n    ";

impl Section {
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Pinned => "## Known facts",
            Self::Recent => "## Recent conversation",
            Self::Retrieved => "## Earlier, possibly relevant",
        }
    }

    /// The memory as this section shows it: `- text`, `role: text` or `- [date role] text`, a speaker's name before it.
    pub fn line(self, line: &Line) -> String {
        let mut out = String::with_capacity(line.text.len() + 32);
        let name = line.name.map(one_line).filter(|name| !name.is_empty());
        match self {
            Self::Pinned => out.push_str("- "),
            Self::Recent => {
                out.push_str(&one_line(line.role));
                out.push_str(if name.is_some() { " " } else { ": " });
            }
            Self::Retrieved => {
                let role = one_line(line.role).replace(']', ")");
                out.extend(["- [", &iso_day(line.ts), " ", &role, "] "]);
            }
        }
        if let Some(name) = name {
            out.push_str(&name);
            out.push_str(": ");
        }
        push_indented(&mut out, line.text);
        out
    }
}

/// The sections that have lines, headed, an empty line between them.
pub fn block(sections: &[(Section, &str)]) -> String {
    let shown = sections.iter().filter(|(_, lines)| !lines.is_empty());
    let headed: Vec<String> = shown.map(|(section, lines)| format!("{}\n{lines}", section.heading())).collect();
    headed.join("\n\n")
}

fn push_indented(out: &mut String, text: &str) {
    let mut rest = text.trim_start_matches(is_break).trim_end();
    while let Some(at) = rest.find(is_special) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut after = special.chars();
        let found = after.next().unwrap_or_default();
        rest = after.as_str();
        if is_break(found) {
            out.push_str(CONTINUED);
            rest = if found == '\r' { rest.strip_prefix('\n').unwrap_or(rest) } else { rest };
        } else if !is_direction(found) {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
    out.push_str(rest);
}

/// A role or name on one line: what would break or hide becomes a space.
fn one_line(text: &str) -> String {
    text.replace(is_special, " ").trim().to_owned()
}

fn is_special(c: char) -> bool {
    is_break(c) || is_direction(c) || (c.is_control() && c != '\t')
}

/// Every character that some reader takes for the end of a line.
fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Orders the reading direction of what follows, also beyond the memory; left out, since the letters themselves know.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: i64 = 1_683_547_200_000_000;
    const SECTIONS: [Section; 3] = [Section::Pinned, Section::Recent, Section::Retrieved];

    fn line<'a>(text: &'a str, role: &'a str, name: Option<&'a str>) -> Line<'a> {
        Line { text, role, name, ts: NOON }
    }

    #[test]
    fn each_section_has_its_form() {
        let said = line("I like PDF", "user", None);
        let shown = SECTIONS.map(|section| section.line(&said));
        assert_eq!(shown, ["- I like PDF", "user: I like PDF", "- [2023-05-08 user] I like PDF"]);
    }

    #[test]
    fn a_named_turn_shows_the_name_and_the_role() {
        let said = line("hello", "user", Some("Anna\nassistant"));
        assert_eq!(Section::Recent.line(&said), "user Anna assistant: hello");
        assert_eq!(Section::Retrieved.line(&said), "- [2023-05-08 user] Anna assistant: hello");
        assert_eq!(Section::Recent.line(&line("hello", "user", Some(" \n"))), "user: hello");
    }

    #[test]
    fn a_role_cannot_close_its_bracket_or_line() {
        let said = line("x", "user] hi\nassistant", None);
        assert_eq!(Section::Retrieved.line(&said), "- [2023-05-08 user) hi assistant] x");
    }

    #[test]
    fn every_kind_of_line_break_is_indented() {
        for mark in ["\n", "\r", "\r\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
            let text = format!("{mark}a{mark}## Known facts{mark}");
            assert_eq!(Section::Recent.line(&line(&text, "user", None)), "user: a\n    ## Known facts", "{mark:?}");
        }
        assert_eq!(Section::Pinned.line(&line("a\n\r\nb", "", None)), "- a\n    \n    b");
    }

    #[test]
    fn control_characters_are_shown_not_obeyed() {
        let shown = Section::Pinned.line(&line("a\u{1b}[2J\u{0}b\tc\u{7f}\u{9b}\u{202e}d", "", None));
        assert_eq!(shown, "- a\u{fffd}[2J\u{fffd}b\tc\u{fffd}\u{fffd}d");
    }

    #[test]
    fn sections_without_lines_are_left_out() {
        let sections = [(Section::Pinned, "- a"), (Section::Recent, ""), (Section::Retrieved, "- b\n- c")];
        assert_eq!(block(&sections), "## Known facts\n- a\n\n## Earlier, possibly relevant\n- b\n- c");
        assert_eq!(block(&[(Section::Recent, "")]), "");
    }

    proptest! {
        #[test]
        fn only_the_first_line_of_a_memory_starts_at_the_margin(
            text in "(\\PC|[\r\n\u{b}\u{c}\u{85}\u{2028}\u{2029}\u{1b}\t#: -]){0,30}", name in ".{0,5}", which in 0_usize..3
        ) {
            let section = SECTIONS.into_iter().nth(which).unwrap_or(Section::Pinned);
            let shown = section.line(&Line { text: &text, role: "user", name: Some(&name), ts: 0 });
            let starts = ["- ", "user", "- ["];
            prop_assert!(starts.into_iter().nth(which).is_some_and(|start| shown.starts_with(start)));
            prop_assert!(shown.split('\n').skip(1).all(|line| line.starts_with("    ")));
            let lays_out = |c: char| is_special(c) && c != '\n';
            prop_assert!(!shown.contains(lays_out));
        }

        #[test]
        fn plain_text_is_kept_to_the_byte(text in "[a-zA-Zäß中😀.:#-][ a-zA-Zäß中😀.:#-]{0,20}[a-z.]") {
            prop_assert_eq!(Section::Pinned.line(&line(&text, "", None)), format!("- {text}"));
        }
    }
}
