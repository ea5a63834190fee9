//! From words to the table of `rank::language::related`, by the analysis of the index; `scripts/related_words.py` calls it.
//!
//! `cargo run -p retentive-core --example related_words < words.tsv > english_related.bin`; a line is `word TAB other TAB weight`, the
//! weight 0 to 0.5, the lines of a word one after the other.
use std::collections::BTreeMap;
use std::io::{Error, Read, Result, Write, stdin, stdout};

use retentive_core::lexical::Analyzer;

/// The most pairs of a word.
const MOST: usize = 16;

fn main() -> Result<()> {
    let mut lines = String::new();
    stdin().read_to_string(&mut lines)?;
    let analyzer = Analyzer::new("english").map_err(Error::other)?;
    let mut words: BTreeMap<u64, BTreeMap<u64, u8>> = BTreeMap::new();
    for line in lines.lines() {
        let [word, other, weight] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(Error::other(format!("expected `word TAB other TAB weight`, got {line:?}")));
        };
        let weight: f32 = weight.parse().map_err(Error::other)?;
        let ([own], [term]) = (&analyzer.terms(word)[..], &analyzer.terms(other)[..]) else { continue };
        let weight = (weight * 510.0).round() as u8;
        if own.hash != term.hash && weight > 0 {
            let best = words.entry(analyzer.word_hash(word)).or_default().entry(term.hash).or_default();
            *best = weight.max(*best);
        }
    }
    stdout().write_all(&table(&words)?)
}

fn table(words: &BTreeMap<u64, BTreeMap<u64, u8>>) -> Result<Vec<u8>> {
    let nearest: Vec<Vec<(u64, u8)>> = words.values().map(nearest).collect();
    let mut terms: Vec<u64> = nearest.iter().flatten().map(|(term, _)| *term).collect();
    terms.sort_unstable();
    terms.dedup();
    let pairs: usize = nearest.iter().map(Vec::len).sum();
    let mut out = Vec::new();
    for length in [words.len(), terms.len(), pairs] {
        out.extend(u32::try_from(length).map_err(Error::other)?.to_le_bytes());
    }
    out.extend(words.keys().flat_map(|word| word.to_le_bytes()));
    let mut end = 0_u32;
    for pairs in &nearest {
        end += pairs.len() as u32;
        out.extend(end.to_le_bytes());
    }
    out.extend(terms.iter().flat_map(|term| term.to_le_bytes()));
    for (term, weight) in nearest.iter().flatten() {
        let at = terms.binary_search(term).map_err(|_| Error::other("a term of a pair is not listed"))?;
        out.extend(u16::try_from(at).map_err(Error::other)?.to_le_bytes());
        out.push(*weight);
    }
    Ok(out)
}

/// The nearest first; of equal ones the smaller hash.
fn nearest(related: &BTreeMap<u64, u8>) -> Vec<(u64, u8)> {
    let mut pairs: Vec<(u64, u8)> = related.iter().map(|(term, weight)| (*term, *weight)).collect();
    pairs.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    pairs.truncate(MOST);
    pairs
}
