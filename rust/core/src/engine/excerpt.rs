//! What the sentences of long memories are compared with when a context block is packed. No transaction: the read gave the
//! statistics of its scope along.
use super::Engine;
use super::columns::query_tokens;
use super::request::QueryTerms;
use crate::rank::answers::overlap;
use crate::rank::language::asks::asks;
use crate::rank::language::marks::holds;
use crate::rank::language::{Language, words};
use crate::rank::terms::TermStatistics;

impl Engine {
    /// The share of the query's idf that each sentence holds.
    #[must_use]
    pub fn overlaps(&self, terms: &TermStatistics, sentences: &[&str]) -> Vec<f32> {
        let idf = terms.idf();
        let total = idf.iter().map(|(_, idf)| idf).sum();
        sentences.iter().map(|sentence| overlap(&idf, total, &self.analyzer.terms(sentence))).collect()
    }

    /// Whether each of these sentences holds what the query asks for.
    #[must_use]
    pub fn held(&self, query: &str, sentences: &[&str], of: &[usize]) -> Vec<bool> {
        let language = Language::of(self.analyzer.language());
        let Some(asks) = asks(&words::words(query), language) else { return Vec::new() };
        let sentences = of.iter().map(|index| sentences.get(*index).copied().unwrap_or_default());
        sentences.map(|sentence| holds(asks, sentence, language)).collect()
    }

    /// The query's vector, its tokens weighted by the statistics of the scope; `None` where they cancel out.
    #[must_use]
    pub fn weighted_query(&self, terms: &TermStatistics, query: &str, tokens: QueryTerms) -> Option<Vec<f32>> {
        query_tokens(query, &self.analyzer.query_terms(query), tokens).weighted(terms.memories, |hash| terms.df(hash))
    }
}
