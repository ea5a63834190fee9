//! Any bytes as a text: its terms, its sentences, its tokens.
use std::sync::LazyLock;

use retentive_core::lexical::{Analyzer, term_hash};
use retentive_core::rank::language::Language;
use retentive_core::rank::language::marks::marks;
use retentive_core::tokens;

const LANGUAGES: [&str; 6] = ["english", "german", "spanish", "turkish", "russian", "none"];

static ANALYZERS: LazyLock<Vec<Analyzer>> =
    LazyLock::new(|| LANGUAGES.iter().map(|name| Analyzer::new(name).expect("a known language")).collect());

pub fn check(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let analyzer = &ANALYZERS[usize::from(*first) % ANALYZERS.len()];
    let text = String::from_utf8_lossy(rest);
    let terms = analyzer.terms(&text);
    for term in &terms {
        assert!(text.get(term.start..term.end).is_some_and(|said| !said.is_empty()), "{term:?} of {text:?}");
    }
    let strings = analyzer.strings(&text);
    let hashes: Vec<u64> = terms.iter().map(|term| term.hash).collect();
    assert_eq!(strings.iter().map(|term| term_hash(term)).collect::<Vec<_>>(), hashes);
    let counts = analyzer.counts(&text);
    assert!(counts.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(counts.iter().map(|(_, count)| *count as usize).sum::<usize>(), terms.len());
    for (hash, count) in &counts {
        assert_eq!(hashes.iter().filter(|other| *other == hash).count(), *count as usize);
    }
    for term in analyzer.query_terms(&text) {
        assert!(
            counts.iter().any(|(hash, _)| *hash == term.hash),
            "a query's term that no text has: {term:?} of {text:?}"
        );
    }
    let halves =
        text.split_once('\n').map(|(one, two)| tokens::units(one) + tokens::NEWLINE_UNITS + tokens::units(two));
    assert!(halves.is_none_or(|sum| sum == tokens::units(&text)), "units do not add up: {text:?}");
    assert_eq!(tokens::estimate(&text), tokens::tokens_for(tokens::units(&text)));
    let _ = marks(&text, i64::from(*first) << 48, Language::of(analyzer.language()));
}
