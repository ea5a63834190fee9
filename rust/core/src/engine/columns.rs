//! The columns of scope S that ranking reads, and what the query's terms and vector give over them.
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::admit::Admission;
use super::gather::{Gathered, Part};
use super::request::QueryTerms;
use crate::error::Result;
use crate::lexical::{Analyzer, Term};
use crate::model::{Kind, Period, Slot};
use crate::rank::blend;
use crate::rank::decay::feedback_score;
use crate::rank::language::Language;
use crate::rank::query::Query;
use crate::rank::refuse::Extent;
use crate::rank::scene::{NO_SPEAKER, Scene, Second, Spread};
use crate::rank::signals::window::Shares;
use crate::rank::term_weights::QueryTokens;
use crate::rank::terms::TermMatches;
use crate::rank::thread::{NO_SESSION, Thread};
use crate::vector::quantise::{Quantised, quantise_unit};

/// The role whose words are the user's own.
pub(super) const USER: &str = "user";

/// What a read sees of S, its query answered by each column.
pub(super) struct Columns<'g> {
    /// Of each model; empty without a query vector.
    pub cosines: Vec<Vec<f32>>,
    /// The second model's part of the dense signal.
    second_share: f32,
    pub matches: TermMatches,
    pub fixed: Arc<Fixed>,
    /// What only a recall reads.
    conversation: Arc<Conversation>,
    periods: Vec<(u32, &'g [Period])>,
    named: Vec<bool>,
    /// Of S, where these are rows that a first pass kept.
    extent: Option<Extent>,
    spread: Option<&'g Spread>,
}

/// What no query changes.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    doc_len: Vec<u32>,
    avg_len: f32,
    pub tokens: Vec<u32>,
    ts: Vec<i64>,
    pub kind: Vec<Kind>,
    pub words: Vec<u32>,
}

/// What no query changes of who said what when, next to whom.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    user_words: Vec<bool>,
    question_share: Vec<f32>,
    names_time: Vec<bool>,
    names_proper: Vec<bool>,
    speaker: Vec<u32>,
    /// The speakers' names.
    names: Vec<Box<str>>,
    thread: Thread,
    shares: Shares,
    citations: Vec<(u32, u32)>,
    /// Indexed terms of each sitting.
    sitting_len: Vec<u32>,
}

/// What a read ranks by.
#[derive(Default)]
pub(super) struct Asked<'a> {
    pub terms: &'a [(u64, u32)],
    /// What the words of a conversation are near to; a plain search has none.
    pub related: &'a [Related],
    /// By model; none: by words alone.
    pub vectors: &'a [AskedVector],
    /// The second model's part of the dense signal.
    pub second_share: f32,
}

/// A term that is near to one of the query's, the nearest of each first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Related {
    /// The query's term.
    pub of: u64,
    pub term: u64,
    pub weight: f32,
}

/// A query's vector by one model.
pub(super) struct AskedVector {
    /// The plain one; `None` for a vector without a direction.
    pub plain: Option<Quantised>,
    /// For one that the scope's statistics weight, in its place.
    pub tokens: Option<QueryTokens>,
}

impl AskedVector {
    pub fn plain(values: &[f32]) -> Self {
        Self { plain: quantise_unit(values), tokens: None }
    }

    /// What is looked for in a scope of so many memories, of which `df` hold a term; `None` where nothing has a direction.
    pub fn direction(&self, memories: usize, df: impl Fn(u64) -> u32) -> Option<Cow<'_, Quantised>> {
        let weighted = self.tokens.as_ref().and_then(|tokens| tokens.weighted(memories as u32, df));
        let weighted = weighted.as_deref().and_then(quantise_unit).map(Cow::Owned);
        weighted.or(self.plain.as_ref().map(Cow::Borrowed))
    }

    fn cosines(&self, slot: Slot, gathered: &Gathered, matches: &TermMatches) -> Result<Vec<f32>> {
        match self.direction(gathered.memories(), |term| matches.df(term)) {
            Some(vector) => gathered.dense(slot, &vector),
            None => Ok(vec![f32::NEG_INFINITY; gathered.len()]),
        }
    }
}

impl<'g> Columns<'g> {
    pub fn new(gathered: &'g Gathered, asked: &Asked) -> Result<Self> {
        let matches = gathered.matches(asked.terms, asked.related);
        let cosines = asked.vectors.iter().enumerate();
        let cosines = cosines.map(|(slot, vector)| vector.cosines(slot, gathered, &matches)).collect::<Result<_>>()?;
        Ok(Self {
            cosines,
            second_share: asked.second_share,
            matches,
            fixed: gathered.fixed(),
            conversation: Arc::default(),
            periods: Vec::new(),
            named: Vec::new(),
            extent: gathered
                .chosen()
                .map(|chosen| Extent { memories: chosen.totals.memories, tokens: chosen.totals.tokens }),
            spread: gathered.chosen().map(|chosen| &chosen.spread),
        })
    }

    /// Reads who said what when, next to whom; reads without a thread leave this out.
    pub fn read_conversation(&mut self, gathered: &'g Gathered, query: &Query, gap_us: i64) {
        self.conversation = gathered.conversation(&self.fixed, gap_us);
        self.named = self.conversation.names.iter().map(|name| query.names(name)).collect();
        if gathered.chosen().is_some_and(|chosen| chosen.names_several) {
            self.named.fill(false);
        }
        if !query.periods.is_empty() {
            self.periods = gathered.parts().iter().flat_map(Part::periods).collect();
        }
    }

    pub fn scene<'a>(&'a self, query: &'a Query) -> Scene<'a> {
        let (fixed, conversation) = (&self.fixed, &self.conversation);
        Scene {
            query,
            extent: self.extent,
            spread: self.spread,
            cosine: self.cosines.first().map(Vec::as_slice),
            second: self.cosines.get(1).map(|cosine| Second { cosine, share: self.second_share }),
            matches: &self.matches,
            doc_len: &fixed.doc_len,
            avg_len: fixed.avg_len,
            tokens: &fixed.tokens,
            ts: &fixed.ts,
            kind: &fixed.kind,
            user_words: &conversation.user_words,
            question_share: &conversation.question_share,
            names_time: &conversation.names_time,
            names_proper: &conversation.names_proper,
            periods: &self.periods,
            speaker: &conversation.speaker,
            named: &self.named,
            thread: &conversation.thread,
            shares: &conversation.shares,
            citations: &conversation.citations,
        }
    }

    pub fn pooling<'a>(&'a self, relevance: &'a [f32], tokens: &'a [u32]) -> blend::Columns<'a> {
        blend::Columns { relevance, ts: &self.fixed.ts, tokens }
    }
}

impl Fixed {
    pub fn of(gathered: &Gathered) -> Self {
        let len = gathered.len();
        let doc_len: Vec<u32> = gathered.lengths().collect();
        let own = || doc_len.iter().map(|len| u64::from(*len)).sum();
        let total: u64 = gathered.chosen().map_or_else(own, |chosen| chosen.totals.doc_len);
        let mut fixed = Self {
            avg_len: total as f32 / gathered.memories().max(1) as f32,
            doc_len,
            tokens: Vec::with_capacity(len),
            ts: Vec::with_capacity(len),
            kind: Vec::with_capacity(len),
            words: Vec::with_capacity(len),
        };
        for entry in gathered.entries() {
            fixed.tokens.push(entry.tokens);
            fixed.ts.push(entry.ts);
            fixed.kind.push(entry.kind);
            fixed.words.push(entry.words);
        }
        fixed
    }
}

impl Conversation {
    /// Memories, turns and others.
    pub fn len(&self) -> usize {
        self.user_words.len()
    }

    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Indexed terms of each sitting.
    pub fn sitting_len(&self) -> &[u32] {
        &self.sitting_len
    }

    /// Facts with the turns they came from.
    pub fn citations(&self) -> &[(u32, u32)] {
        &self.citations
    }

    /// The turns that a fact came from.
    pub fn cited_by(&self, fact: u32) -> impl Iterator<Item = u32> {
        let first = self.citations.partition_point(|(other, _)| *other < fact);
        let own = self.citations.iter().skip(first).take_while(move |(other, _)| *other == fact);
        own.map(|(_, turn)| *turn)
    }

    pub fn of(gathered: &Gathered, fixed: &Fixed, gap_us: i64) -> Self {
        let mut conversation = Self::default();
        let mut speakers = HashMap::new();
        for part in gathered.parts() {
            conversation.read_words(part);
            conversation.read_speakers(part, &mut speakers);
        }
        let citations = gathered.citations();
        let thread = thread(gathered, &fixed.ts, &fixed.kind, gap_us).with_facts(&citations);
        let mean = gathered.chosen().map(|chosen| chosen.spread.window_len);
        conversation.shares = Shares::of(&thread, &citations, &fixed.tokens, &fixed.doc_len, mean);
        conversation.sitting_len = vec![0; thread.sittings()];
        for (sitting, len) in thread.sitting().iter().zip(&fixed.doc_len) {
            if let Some(sum) = conversation.sitting_len.get_mut(*sitting as usize) {
                *sum += len;
            }
        }
        Self { thread, citations, ..conversation }
    }

    fn read_words(&mut self, part: &Part) {
        let user = part.partition.roles().code(USER);
        for (_, entry) in part.entries() {
            self.user_words.push(entry.kind.is_fact() || (entry.role != 0 && Some(entry.role) == user));
            self.question_share.push(f32::from(entry.question) / 255.0);
            self.names_time.push(entry.names_time);
            self.names_proper.push(entry.names_proper);
        }
    }

    /// Speakers are the same wherever they have the same name: `speakers` numbers them over all of S.
    fn read_speakers<'p>(&mut self, part: &'p Part, speakers: &mut HashMap<&'p str, u32>) {
        let names = part.partition.names();
        let mut numbers: Vec<Option<u32>> = vec![None; names.len() + 1];
        for (_, entry) in part.entries() {
            let (Some(name), Some(slot)) = (names.get(entry.name), numbers.get_mut(entry.name as usize)) else {
                self.speaker.push(NO_SPEAKER);
                continue;
            };
            let number = slot.get_or_insert_with(|| {
                *speakers.entry(name).or_insert_with(|| {
                    self.names.push(name.into());
                    self.names.len() as u32 - 1
                })
            });
            self.speaker.push(*number);
        }
    }
}

/// The turns in their order. What a first pass kept is in runs, each as if it were a session: what stood between two of them is not
/// here.
fn thread(gathered: &Gathered, ts: &[i64], kinds: &[Kind], gap_us: i64) -> Thread {
    if let Some(chosen) = gathered.chosen() {
        let turns: Vec<i64> = gathered.entries().map(|entry| entry.turn).collect();
        return Thread::new(&chosen.runs, &turns, ts, kinds, gap_us).seated(&chosen.sittings);
    }
    let (mut sessions, mut turns) = (Vec::with_capacity(gathered.len()), Vec::with_capacity(gathered.len()));
    for part in gathered.parts() {
        for (_, entry) in part.entries() {
            // The scope that is the partition itself is a session only for those without a user.
            let alone = entry.scope == part.reached.partition && !part.reached.is_session;
            sessions.push(if alone { NO_SESSION } else { entry.scope as u32 });
            turns.push(entry.turn);
        }
    }
    Thread::new(&sessions, &turns, ts, kinds, gap_us)
}

/// The tokens of a query whose embedder gives them; `terms` are those of its analysis.
pub(super) fn query_tokens(query: &str, terms: &[Term], given: QueryTerms) -> QueryTokens {
    let starts: Vec<usize> = query.char_indices().map(|(at, _)| at).chain([query.len()]).collect();
    let byte = |character: usize| starts.get(character).copied().unwrap_or(query.len());
    let spans: Vec<Range<usize>> = given.spans.into_iter().map(|(start, end)| byte(start)..byte(end)).collect();
    QueryTokens::new(given.vectors, &spans, terms)
}

/// What of the dense signal is the second model's, by the weights of both.
pub(super) fn second_share(dense_weights: &[f64]) -> f32 {
    let total: f64 = dense_weights.iter().sum();
    dense_weights.get(1).filter(|_| total > 0.0).map_or(0.0, |weight| (weight / total) as f32)
}

/// The feedback that a memory had at the instant the read answers for.
pub(super) fn feedback_then(given: &[(i8, i64)], admission: &Admission, half_life_days: f64) -> f64 {
    if given.is_empty() {
        return 0.0;
    }
    let then: Vec<(i8, i64)> =
        given.iter().copied().filter(|(_, ts)| admission.as_of.is_none_or(|as_of| *ts <= as_of)).collect();
    feedback_score(&then, admission.instant(), half_life_days)
}

/// The distinct terms of a query, by rising hash, each with how often the query says it.
pub(super) fn distinct(terms: &[Term]) -> Vec<(u64, u32)> {
    let mut hashes: Vec<u64> = terms.iter().map(|term| term.hash).collect();
    hashes.sort_unstable();
    hashes.chunk_by(|a, b| a == b).filter_map(|same| Some((*same.first()?, same.len() as u32))).collect()
}

/// The terms related to those of a query, by rising hash of these, the nearest first. Empty in a language without a table.
pub(super) fn related_terms(analyzer: &Analyzer, query: &str, terms: &[Term]) -> Vec<Related> {
    let language = Language::of(analyzer.language());
    let Some(words) = language.and_then(|language| language.related) else { return Vec::new() };
    let mut related = Vec::with_capacity(terms.len() * 8);
    for term in terms {
        let word = query.get(term.start..term.end).map_or(0, |word| analyzer.word_hash(word));
        related.extend(words.of(word).map(|(other, weight)| Related { of: term.hash, term: other, weight }));
    }
    related.sort_unstable_by(|a, b| a.of.cmp(&b.of).then(b.weight.total_cmp(&a.weight)));
    related
}
