//! `recall`: relevance over scope S, the pool of the best candidates, and the blend with recency and feedback (DESIGN, section 5).
use std::collections::HashSet;

use super::Engine;
use super::admit::Admission;
use super::columns::{
    Asked, AskedVector, Columns, Related, distinct, feedback_then, query_tokens, related_terms, second_share,
};
use super::filter::{self, MetadataFilter};
use super::first_pass::{FirstPass, Wanted};
use super::gather::Gathered;
use super::model::expect_models;
use super::request::{Memory, Ranked, Reach, RecallRequest};
use super::undecided::Undecided;
use super::view::{View, best_cosine};
use crate::error::Result;
use crate::model::Kind;
use crate::partition::Entry;
use crate::rank::blend::{Blend, PoolSize, Pooled, blend, pool, within_gap};
use crate::rank::explain::explain;
use crate::rank::language::Language;
use crate::rank::query::Query;
use crate::rank::refuse::{Doubt, doubt, nothing_relevant};
use crate::rank::relevance::{Relevance, relevance};
use crate::rank::scene::Scene;
use crate::rank::weights::Weights;
use crate::store::{Interrupt, Seq};

/// What S must reach to answer.
#[derive(Debug, Clone, Copy)]
enum Floor {
    Evidence(f64),
    LateInteraction(f64),
}

enum Judgement {
    Answers,
    NothingRelevant,
    Undecided(Doubt),
}

impl Floor {
    fn judge(self, scene: &Scene) -> Judgement {
        match self {
            Self::Evidence(floor) if nothing_relevant(scene, floor as f32) => Judgement::NothingRelevant,
            Self::Evidence(_) => Judgement::Answers,
            Self::LateInteraction(floor) => match doubt(scene, floor as f32) {
                None => Judgement::Answers,
                Some(doubt) if doubt.is_hopeless() => Judgement::NothingRelevant,
                Some(doubt) => Judgement::Undecided(doubt),
            },
        }
    }
}

impl Engine {
    /// The pool by score; of what a limit alone leaves out only the ids. Superseded memories are part of S, as candidates and as neighbours, when the request includes them.
    pub fn recall(&self, request: &RecallRequest, interrupt: Interrupt) -> Result<Ranked> {
        let plan = Plan::new(self, request, request.reach.clone())?;
        self.snapshot(interrupt, |view| plan.rank(view, &HashSet::new(), 0))
    }
}

/// `InvalidInput` for a name that is no signal, or a weight that is none.
pub fn validate_signals(signals: &[(String, f64)]) -> Result<()> {
    weights(0.5, signals).map(drop)
}

/// The defaults beside the embedder, or both, and what differs from them.
fn weights(dense_weight: f64, signals: &[(String, f64)]) -> Result<Weights> {
    let mut weights = Weights::beside(dense_weight as f32);
    for (name, weight) in signals {
        weights.set(name, *weight as f32)?;
    }
    Ok(weights)
}

/// What of a recall can be known before its transaction.
pub(super) struct Plan<'a> {
    request: &'a RecallRequest,
    pub reach: Reach,
    pub admission: Admission,
    filter: Option<MetadataFilter>,
    weights: Weights,
    terms: Vec<(u64, u32)>,
    related: Vec<Related>,
    vectors: Vec<AskedVector>,
    query: Query,
}

impl<'a> Plan<'a> {
    pub fn new(engine: &Engine, request: &'a RecallRequest, reach: Reach) -> Result<Self> {
        let weights =
            weights(request.settings.dense_weights.iter().sum(), &request.settings.signals)?.in_mode(request.mode);
        let admission = Admission {
            documents: false,
            superseded: request.include_superseded,
            now: request.now,
            as_of: request.as_of,
        };
        let terms = engine.analyzer.query_terms(&request.query);
        let vectors = request.vectors.iter().enumerate().map(|(slot, values)| {
            let tokens = request.query_terms.get(slot).cloned().flatten();
            let tokens = tokens.map(|tokens| query_tokens(&request.query, &terms, tokens));
            AskedVector { tokens, ..AskedVector::plain(values) }
        });
        let language = Language::of(engine.analyzer.language());
        let by_window = weights.get("window") > Some(0.0);
        let related = if by_window { related_terms(&engine.analyzer, &request.query, &terms) } else { Vec::new() };
        Ok(Self {
            request,
            reach,
            filter: filter::parse(request.filter.as_deref())?,
            related,
            weights,
            vectors: vectors.collect(),
            terms: distinct(&terms),
            query: Query::read(&request.query, admission.instant(), language),
            admission,
        })
    }

    /// Ranks in one snapshot; `None`: in a fresh one, please. `left_out` are no candidates; `line_tokens` is what packing adds to
    /// each memory's own tokens.
    pub fn rank(&self, view: &View, left_out: &HashSet<Seq>, line_tokens: u32) -> Result<Option<Ranked>> {
        expect_models(view.tx, [self.request.model_epoch])?;
        let Some(gathered) = view.gather(&self.reach, &self.admission, self.filter.as_ref())? else { return Ok(None) };
        if gathered.len() == 0 {
            return Ok(Some(Ranked::default()));
        }
        let second_share = second_share(&self.request.settings.dense_weights);
        let asked = Asked { terms: &self.terms, related: &self.related, vectors: &self.vectors, second_share };
        if gathered.len() > view.ranked_whole
            && let Some(kept) = self.kept(view, &gathered, &asked, left_out, line_tokens)?
            && let Some(ranked) = self.rank_rows(view, &kept, &asked, left_out, line_tokens)?
        {
            return Ok(Some(ranked));
        }
        self.rank_rows(view, &gathered, &asked, left_out, line_tokens)
    }

    /// What a first pass keeps of a large scope; `None`: everything is to be ranked.
    fn kept(
        &self,
        view: &View,
        gathered: &Gathered,
        asked: &Asked,
        left_out: &HashSet<Seq>,
        line_tokens: u32,
    ) -> Result<Option<Gathered>> {
        let mut left_out = left_out.clone();
        for id in &self.request.exclude_ids {
            left_out.extend(view.tx.find(id)?.map(|head| head.seq));
        }
        let wanted = Wanted {
            kinds: &self.request.kinds,
            least_words: self.request.settings.recall_min_words,
            roles: self.request.settings.recall_roles.as_deref(),
            left_out,
        };
        let totals = gathered.totals();
        let usual = totals.tokens as f64 / totals.memories.max(1) as f64 + f64::from(line_tokens);
        let pass = FirstPass {
            asked,
            query: &self.query,
            weights: &self.weights,
            wanted,
            pool: self.pool_size().about(usual),
            sitting_gap_us: self.request.settings.sitting_gap_us,
        };
        pass.choose(gathered)
    }

    /// Ranks S, or what a first pass kept of it; `None` where that is too little to fill the pool.
    fn rank_rows(
        &self,
        view: &View,
        gathered: &Gathered,
        asked: &Asked,
        left_out: &HashSet<Seq>,
        line_tokens: u32,
    ) -> Result<Option<Ranked>> {
        let mut columns = Columns::new(gathered, asked)?;
        columns.read_conversation(gathered, &self.query, self.request.settings.sitting_gap_us);
        let scene = columns.scene(&self.query);
        let floor = self.refusal_floor(view)?;
        let plain = self.plain_cosine(gathered, floor.is_some())?;
        let similarity = plain.as_deref().or(scene.cosine);
        let doubt = match floor.map(|floor| floor.judge(&Scene { cosine: similarity, ..scene })) {
            Some(Judgement::NothingRelevant) => return Ok(Some(Ranked::nothing_relevant())),
            Some(Judgement::Undecided(doubt)) => Some(doubt),
            Some(Judgement::Answers) | None => None,
        };
        let relevance = relevance(&scene, &self.weights);
        let candidates = self.candidates(view, gathered, left_out)?;
        let offered = candidates.len();
        let candidates = self.similar_enough(view, gathered, similarity, candidates)?;
        let blended = self.blended(gathered, &columns, &relevance, &candidates, line_tokens);
        if gathered.chosen().is_some() && blended.len() == offered {
            return Ok(None);
        }
        let ranked = self.present(view, gathered, &scene, &relevance, &blended)?;
        let known: Vec<(u32, &Memory)> = blended.iter().map(|pooled| pooled.row).zip(&ranked.memories).collect();
        let undecided = doubt.map(|doubt| Undecided::new(view, gathered, doubt, &known)).transpose()?;
        Ok(Some(Ranked { undecided, ..ranked }))
    }

    /// The first model's cosine with the plain query vector, where something depends on it and the ranking went by another one.
    fn plain_cosine(&self, gathered: &Gathered, refuses: bool) -> Result<Option<Vec<f32>>> {
        let has_cutoff = refuses || self.request.min_relevance.is_some();
        let first = self.vectors.first().filter(|first| has_cutoff && first.tokens.is_some());
        first.and_then(|first| first.plain.as_ref()).map(|plain| gathered.dense(0, plain)).transpose()
    }

    /// A measured one is for evidence without late interaction.
    fn refusal_floor(&self, view: &View) -> Result<Option<Floor>> {
        let measured = if self.request.calibrated { view.floors()?.refusal } else { None };
        let late = self.request.late_interaction_floor.filter(|_| !self.request.vectors.is_empty());
        let own = late.map(Floor::LateInteraction).or(self.request.refusal_floor.map(Floor::Evidence));
        Ok(measured.map(Floor::Evidence).or(own))
    }

    fn pool_size(&self) -> PoolSize {
        match (self.request.limit, self.request.token_budget) {
            (Some(limit), _) => PoolSize::Limit(limit),
            (None, budget) => PoolSize::Budget(budget.map_or(u64::MAX, |budget| budget as u64)),
        }
    }

    /// The rows of S that kinds, policy and exclusions leave.
    fn candidates(&self, view: &View, gathered: &Gathered, left_out: &HashSet<Seq>) -> Result<Vec<u32>> {
        let kinds = Kind::ALL.map(|kind| self.request.kinds.contains(&kind));
        let least = self.request.settings.recall_min_words;
        let fixed = gathered.fixed();
        let rows = (0_u32..).zip(fixed.kind.iter().zip(&fixed.words));
        let wanted = rows.filter(|(_, (kind, words))| {
            kinds.get(**kind as usize).copied().unwrap_or(false) && (**kind != Kind::Turn || **words >= least)
        });
        let mut candidates: Vec<u32> = wanted.map(|(row, _)| row).collect();
        if self.request.settings.recall_roles.is_some() {
            let recalled = self.in_recalled_roles(gathered);
            candidates.retain(|row| recalled.get(*row as usize).copied().unwrap_or(false));
        }
        // The few that are left out are looked up among all, not all among the few.
        let mut rows_left_out: Vec<u32> = left_out.iter().filter_map(|seq| gathered.index_of(*seq)).collect();
        for id in &self.request.exclude_ids {
            rows_left_out.extend(view.tx.find(id)?.and_then(|head| gathered.index_of(head.seq)));
        }
        if !rows_left_out.is_empty() {
            rows_left_out.sort_unstable();
            candidates.retain(|row| rows_left_out.binary_search(row).is_err());
        }
        Ok(candidates)
    }

    /// Whether each row of S is no turn, or one of a role that is recalled.
    fn in_recalled_roles(&self, gathered: &Gathered) -> Vec<bool> {
        let mut recalled = Vec::with_capacity(gathered.len());
        for part in gathered.parts() {
            let roles = self.allowed_roles(part);
            let is_recalled = |entry: &Entry| {
                entry.kind != Kind::Turn || roles.as_ref().is_none_or(|roles| roles.contains(&entry.role))
            };
            recalled.extend(part.entries().map(|(_, entry)| is_recalled(entry)));
        }
        recalled
    }

    /// The codes of the roles whose turns are recalled; `None`: all.
    fn allowed_roles(&self, part: &super::gather::Part) -> Option<Vec<u32>> {
        let roles = self.request.settings.recall_roles.as_ref()?;
        Some(roles.iter().filter_map(|role| part.partition.roles().code(role)).collect())
    }

    fn similar_enough(
        &self,
        view: &View,
        gathered: &Gathered,
        similarity: Option<&[f32]>,
        candidates: Vec<u32>,
    ) -> Result<Vec<u32>> {
        match (self.request.min_relevance, self.request.vectors.first(), similarity) {
            (Some(least), Some(query), Some(int8)) => view.at_least(gathered, int8, query, least as f32, candidates),
            _ => Ok(candidates),
        }
    }

    fn blended(
        &self,
        gathered: &Gathered,
        columns: &Columns,
        relevance: &Relevance,
        candidates: &[u32],
        line_tokens: u32,
    ) -> Vec<Pooled> {
        let settings = &self.request.settings;
        let rendered: Vec<u32>;
        let tokens = if line_tokens == 0 {
            &columns.fixed.tokens
        } else {
            rendered = columns.fixed.tokens.iter().map(|tokens| tokens + line_tokens).collect();
            &rendered
        };
        let pooling = columns.pooling(&relevance.total, tokens);
        let pool = pool(&pooling, candidates, self.pool_size());
        let weights = Blend {
            recency_weight: settings.recency_weight,
            half_life_days: settings.half_life_days,
            feedback_weight: settings.feedback_weight,
        };
        let feedback = |row: u32| {
            feedback_then(gathered.feedback(row as usize), &self.admission, settings.feedback_half_life_days)
        };
        blend(&pooling, &pool, self.admission.instant(), &weights, feedback)
    }

    /// How many of the pool may be returned: under a limit alone as many, and one more for each fact, which may give way to the turns
    /// that it came from.
    fn whole(&self, scene: &Scene, blended: &[Pooled]) -> usize {
        let (Some(limit), None) = (self.request.limit, self.request.token_budget) else { return blended.len() };
        let kinds = blended.iter().filter_map(|pooled| scene.kind.get(pooled.row as usize));
        limit.saturating_add(kinds.filter(|kind| **kind != Kind::Turn).count())
    }

    fn present(
        &self,
        view: &View,
        gathered: &Gathered,
        scene: &Scene,
        relevance: &Relevance,
        blended: &[Pooled],
    ) -> Result<Ranked> {
        let scores: Vec<f64> = blended.iter().map(|pooled| pooled.score).collect();
        let kept = self.request.score_gap.map_or(scores.len(), |gap| within_gap(&scores, gap));
        let (kept, below_gap) = blended.split_at(kept.min(blended.len()));
        let (whole, over_limit) = kept.split_at(self.whole(scene, blended).min(kept.len()));
        let ids = |pool: &[Pooled]| pool.iter().filter_map(|pooled| gathered.id(pooled.row as usize)).collect();
        let mut ranked = Ranked {
            terms: scene.matches.statistics(),
            over_limit: ids(over_limit),
            below_gap: ids(below_gap),
            ..Ranked::default()
        };
        let query = self.request.vectors.first();
        let memories = view.memories(gathered, whole.iter().map(|pooled| pooled.row), query.is_some())?;
        for ((memory, vectors), pooled) in memories.into_iter().zip(whole) {
            let similarity = query.and_then(|query| best_cosine(0, query, &vectors));
            ranked.memories.push(Memory {
                score: pooled.score,
                similarity: similarity.map(f64::from),
                scoring: Some(scoring(scene, relevance, pooled, similarity)),
                ..memory
            });
        }
        Ok(ranked)
    }
}

/// `_vx_scoring`, with the exact cosine in place of the scan's.
fn scoring(scene: &Scene, relevance: &Relevance, pooled: &Pooled, similarity: Option<f32>) -> Vec<(&'static str, f64)> {
    let parts = explain(scene, relevance, pooled);
    let mut scoring: Vec<(&'static str, f64)> =
        similarity.iter().map(|cosine| ("relevance", f64::from(*cosine))).collect();
    scoring.extend([
        ("relevance_norm", parts.relevance_norm),
        ("recency", parts.recency),
        ("feedback", parts.feedback),
    ]);
    scoring.extend(parts.signals);
    scoring
}
