//! "Nothing relevant" is an answer. How much S must show before it answers depends on how much there is: the best of n unrelated
//! memories comes closer to any question the larger n is and the longer they are. Figures: `docs/adr/0004-refusal-grows-with-the-memory.md`
//! and `docs/adr/0062-refusal-grows-with-the-text.md`, from `scripts/calibrate_floors.py`; of late interaction `docs/adr/0099-late-interaction.md`.
use super::query::Query;
use super::scene::Scene;

/// What words add to the similarity when they cover the whole query.
const COVERAGE_WEIGHT: f32 = 0.5;
/// A longer text has something of everything, so its evidence counts less.
const LENGTH: f32 = 80.0;

/// Fewer memories are no conversation to judge by: they always answer.
const FEWEST: usize = 10;
/// The tokens of a usual turn.
const TURN: f32 = 40.0;
/// An embedder's floor is that for so many usual turns.
const REFERENCE: f32 = 500.0;
/// What each e-fold of less takes off the floor. More than what chance takes off the best (0.05 for the static model, 0.03 for
/// bge-small): a small memory gets the benefit of the doubt.
const GROWTH_BELOW: f32 = 0.1;
/// What each e-fold of more adds: a little less than chance does.
const GROWTH_ABOVE: f32 = 0.04;
/// Measured up to here; beyond, the floor stays.
const MOST: f32 = 10_000.0;

/// So many memories with the most evidence are looked at token by token, each with the turns beside it.
const LOOKED_AT: usize = 5;
/// As `GROWTH_BELOW`, where late interaction counts: it rises with the texts, too.
const LATE_GROWTH_BELOW: f32 = 0.15;

/// How much there is to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub memories: usize,
    pub tokens: u64,
}

impl Extent {
    fn of(scene: &Scene, left_out: Option<usize>) -> Self {
        if let Some(extent) = scene.extent {
            return extent;
        }
        let counted = scene.tokens.iter().enumerate().filter(|(row, _)| Some(*row) != left_out);
        let (memories, tokens) = counted.fold((0, 0), |(n, sum), (_, tokens)| (n + 1, sum + u64::from(*tokens)));
        Self { memories, tokens }
    }

    /// The usual turns that are as much: where memories are longer than those, the geometric mean of the memories and of the turns
    /// that their texts would make.
    fn turns(self) -> f32 {
        let memories = self.memories as f32;
        memories.max(self.by_text())
    }

    /// The geometric mean of the memories and of the turns that their texts would make, also where they are shorter than those.
    fn by_text(self) -> f32 {
        (self.memories as f32 * (self.tokens as f32 / TURN)).sqrt()
    }
}

/// How well S answers the query at best: the largest `(similarity + 0.5 * coverage) * min(1, 80 / L)^(1/4)`. A memory
/// without vectors has similarity 0. Negative infinity for an empty scope.
pub fn best_evidence(scene: &Scene) -> f32 {
    evidence(scene).fold(f32::NEG_INFINITY, f32::max)
}

/// The evidence for the query as it would be among 500 usual turns, which is what an embedder's floor is compared with;
/// `None` for a query that is never refused. `left_out`: the memory that the query was taken from.
#[must_use]
pub fn evidence_among_500(scene: &Scene, left_out: Option<usize>) -> Option<f32> {
    let extent = Extent::of(scene, left_out);
    if extent.memories < FEWEST || never_refused(scene.query) {
        return None;
    }
    let others = evidence(scene).enumerate().filter(|(row, _)| Some(*row) != left_out);
    let best = others.map(|(_, evidence)| evidence).fold(f32::NEG_INFINITY, f32::max);
    Some(best - growth(extent))
}

fn evidence(scene: &Scene) -> impl Iterator<Item = f32> {
    let coverage = scene.matches.coverage(scene.len());
    let similarity =
        move |row: usize| scene.cosine.and_then(|cosine| cosine.get(row)).copied().filter(|x| x.is_finite());
    let rows = coverage.into_iter().zip(scene.tokens).enumerate();
    rows.map(move |(row, (held, tokens))| (similarity(row).unwrap_or(0.0) + COVERAGE_WEIGHT * held) * discount(*tokens))
}

fn discount(tokens: u32) -> f32 {
    (LENGTH / tokens as f32).min(1.0).sqrt().sqrt()
}

/// The floor for so much, from an embedder's, which is that for 500 usual turns: linear in the logarithm. Negative infinity for fewer
/// than ten memories.
#[must_use]
pub fn floor_for(extent: Extent, refusal_floor: f32) -> f32 {
    if extent.memories < FEWEST {
        return f32::NEG_INFINITY;
    }
    refusal_floor + growth(extent)
}

/// What the floor for so much has on that for 500 usual turns.
fn growth(extent: Extent) -> f32 {
    growing(extent.turns(), GROWTH_BELOW)
}

fn growing(turns: f32, below: f32) -> f32 {
    let folds = (turns.min(MOST) / REFERENCE).ln();
    folds * if folds < 0.0 { below } else { GROWTH_ABOVE }
}

/// S may have no answer: late interaction with its best memories is to tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// What it must reach.
    least: f32,
    /// Of each memory looked at, the one with the most evidence first: its row, then those of the turns said before and after it, and the
    /// discount for the length of them all.
    best: Vec<(Vec<u32>, f32)>,
}

impl Doubt {
    /// The rows whose texts together late interaction is to be known of, for each memory looked at.
    pub fn windows(&self) -> impl Iterator<Item = &[u32]> {
        self.best.iter().map(|(rows, _)| rows.as_slice())
    }

    /// Whether S has no answer, from the late interaction of each row; the best counts, that of a long text less, and none below 0.
    #[must_use]
    pub fn nothing_relevant(&self, late: &[f32]) -> bool {
        let counted = self.best.iter().zip(late).map(|((_, discount), late)| late * discount);
        counted.fold(0.0, f32::max) < self.least
    }

    /// Whether S has no answer even if a memory held every token of the query.
    #[must_use]
    pub fn is_hopeless(&self) -> bool {
        self.nothing_relevant(&[1.0; LOOKED_AT])
    }
}

/// What late interaction must decide, as `nothing_relevant` decides without: whether best evidence and best late interaction together
/// reach the floor for so much. `None`: S answers.
#[must_use]
pub fn doubt(scene: &Scene, late_interaction_floor: f32) -> Option<Doubt> {
    let extent = Extent::of(scene, None);
    if extent.memories < FEWEST || never_refused(scene.query) {
        return None;
    }
    let mut rows: Vec<(u32, f32)> = (0_u32..).zip(evidence(scene)).collect();
    let by_evidence = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if rows.len() > LOOKED_AT {
        rows.select_nth_unstable_by(LOOKED_AT, by_evidence);
        rows.truncate(LOOKED_AT);
    }
    rows.sort_unstable_by(by_evidence);
    let best = rows.first().map_or(f32::NEG_INFINITY, |(_, evidence)| *evidence);
    let least = late_interaction_floor + growing(extent.by_text(), LATE_GROWTH_BELOW) - best;
    if least <= 0.0 {
        return None;
    }
    let windows = rows.iter().map(|(row, _)| window(scene, *row as usize));
    Some(Doubt { least, best: windows.collect() })
}

/// A memory with the turns beside it: what is asked is often said in two. And the discount for their length.
fn window(scene: &Scene, row: usize) -> (Vec<u32>, f32) {
    let rows: Vec<usize> =
        [Some(row), scene.thread.previous(row), scene.thread.next(row)].into_iter().flatten().collect();
    let tokens =
        rows.iter().filter_map(|row| scene.tokens.get(*row)).fold(0, |sum: u32, tokens| sum.saturating_add(*tokens));
    (rows.into_iter().map(|row| row as u32).collect(), discount(tokens))
}

fn never_refused(query: &Query) -> bool {
    query.names_date || query.names_earlier_talk
}

/// Whether S has no answer: its best evidence is below the floor for so much, and the query names neither a date nor
/// earlier talk, which are found by other means than similarity. No floor was calibrated for reads without similarities:
/// there, what shares no word with the query is no answer, however few there are.
#[must_use]
pub fn nothing_relevant(scene: &Scene, refusal_floor: f32) -> bool {
    let least =
        if scene.cosine.is_some() { floor_for(Extent::of(scene, None), refusal_floor) } else { f32::MIN_POSITIVE };
    best_evidence(scene) < least && !never_refused(scene.query)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::expect_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::language::ENGLISH;
    use super::super::sample::Sample;
    use super::super::thread::NO_SESSION;
    use super::*;
    use crate::model::Kind;

    /// Turns of usual length with these cosines.
    fn usual_turns(cosines: &[f32]) -> Sample {
        Sample { tokens: vec![40; cosines.len()], ..Sample::of_turns(cosines) }
    }

    /// 500 turns, the best of them with this cosine, against a floor of 0.4.
    fn refuses(cosine: f32, text: &str) -> bool {
        let mut cosines = vec![0.1; 500];
        cosines[7] = cosine;
        let sample = Sample { text: text.to_owned(), language: Some(&ENGLISH), ..usual_turns(&cosines) };
        let view = sample.view();
        nothing_relevant(&view.scene(), 0.4)
    }

    fn evidence(sample: &Sample) -> f32 {
        best_evidence(&sample.view().scene())
    }

    #[test]
    fn a_query_is_refused_below_the_floor_alone() {
        assert!(refuses(0.3, "who painted the ceiling"));
        assert!(!refuses(0.5, "who painted the ceiling"));
    }

    #[test]
    fn dates_and_earlier_talk_are_never_refused() {
        assert!(!refuses(0.3, "what happened on 2023-05-08"));
        assert!(!refuses(0.3, "what happened last week"));
        assert!(!refuses(0.3, "what did you recommend"));
    }

    #[test]
    fn the_same_evidence_answers_from_a_small_memory_and_not_from_a_large_one() {
        let refused = |n: usize| {
            let sample = usual_turns(&vec![0.3; n]);
            nothing_relevant(&sample.view().scene(), 0.5)
        };
        assert!(!refused(10));
        assert!(!refused(40));
        assert!(refused(500));
    }

    #[test]
    fn the_same_evidence_answers_from_short_memories_and_not_among_long_ones() {
        let refused = |others: u32| {
            let mut sample = Sample::of_turns(&[0.3; 30]);
            sample.tokens[1..].fill(others);
            nothing_relevant(&sample.view().scene(), 0.5)
        };
        assert!(!refused(10));
        assert!(refused(400));
    }

    #[test]
    fn the_floor_of_an_embedder_is_that_for_500_usual_turns() {
        assert!((floor_for(Extent { memories: 500, tokens: 20_000 }, 0.5) - 0.5).abs() < 1e-6);
        assert!((floor_for(Extent { memories: 500, tokens: 2_000 }, 0.5) - 0.5).abs() < 1e-6);
        assert!((floor_for(Extent { memories: 50, tokens: 200_000 }, 0.5) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn fewer_than_ten_memories_are_never_refused() {
        let refused = |n: usize| {
            let sample = Sample::of_turns(&vec![-0.9; n]);
            nothing_relevant(&sample.view().scene(), 0.5)
        };
        assert!(!refused(1));
        assert!(!refused(9));
        assert!(refused(10));
    }

    fn doubt_among_500(cosine: f32, floor: f32) -> Option<Doubt> {
        let mut cosines = vec![0.1; 500];
        cosines[7] = cosine;
        // A window of three is as long as what counts in full.
        let sample = Sample { tokens: vec![26; 500], ..Sample::of_turns(&cosines) };
        doubt(&sample.view().scene(), floor)
    }

    #[test]
    fn late_interaction_decides_what_evidence_alone_does_not() {
        let doubt = doubt_among_500(0.4, 1.0).expect("undecided");
        let windows: Vec<&[u32]> = doubt.windows().collect();
        assert_eq!(windows, [&[7, 6, 8][..], &[0, 1], &[1, 0, 2], &[2, 1, 3], &[3, 2, 4]]);
        assert!(doubt.nothing_relevant(&[0.5, 0.1, 0.1, 0.1, 0.1]));
        assert!(!doubt.nothing_relevant(&[0.7, 0.1, 0.1, 0.1, 0.1]));
        assert!(!doubt.nothing_relevant(&[0.1, 0.1, 0.1, 0.1, 0.7]));
    }

    #[test]
    fn what_reaches_the_floor_alone_is_in_no_doubt_and_what_never_can_is_hopeless() {
        assert!(doubt_among_500(1.0, 1.0).is_none());
        assert!(doubt_among_500(0.1, 1.2).is_some_and(|doubt| doubt.is_hopeless()));
        assert!(doubt_among_500(0.3, 1.2).is_some_and(|doubt| !doubt.is_hopeless()));
    }

    #[test]
    fn what_is_no_turn_of_a_thread_is_looked_at_alone() {
        let mut sample = usual_turns(&[0.1; 500]);
        sample.kind[2] = Kind::Fact;
        sample.session[4] = NO_SESSION;
        let doubt = doubt(&sample.view().scene(), 9.0).expect("undecided");
        assert_eq!(doubt.windows().collect::<Vec<_>>(), [&[0, 1][..], &[1, 0, 3], &[2], &[3, 1, 5], &[4]]);
    }

    #[test]
    fn few_memories_and_dates_are_in_no_doubt() {
        let text = "what happened last week".to_owned();
        let dated = Sample { text, language: Some(&ENGLISH), ..usual_turns(&[0.0; 500]) };
        assert!(doubt(&dated.view().scene(), 9.0).is_none());
        assert!(doubt(&usual_turns(&[0.0; 9]).view().scene(), 9.0).is_none());
        assert!(doubt(&usual_turns(&[0.0; 10]).view().scene(), 9.0).is_some());
    }

    #[test]
    fn late_interaction_with_a_long_text_counts_less() {
        let mut sample = usual_turns(&[0.0; 500]);
        sample.tokens.fill(1280);
        sample.tokens[..2].fill(40);
        let among = doubt(&sample.view().scene(), 0.5).expect("undecided");
        assert!(!among.nothing_relevant(&[1.0, 0.0, 0.0, 0.0, 0.0]));
        assert!(among.nothing_relevant(&[0.0, 1.0, 0.0, 0.0, 0.0]));
    }

    #[test]
    fn words_count_half_of_what_they_cover() {
        let mut sample = Sample::of_turns(&[0.1, 0.3]);
        sample.tf = vec![vec![1, 0]];
        assert!((evidence(&sample) - 0.6).abs() < 1e-6);
    }

    #[test]
    fn a_long_text_counts_less() {
        let mut sample = Sample::of_turns(&[0.4]);
        sample.tokens = vec![80];
        assert!((evidence(&sample) - 0.4).abs() < 1e-6);
        sample.tokens = vec![1280];
        assert!((evidence(&sample) - 0.2).abs() < 1e-6);
    }

    #[test]
    fn a_memory_without_vectors_answers_by_its_words() {
        let mut sample = Sample::of_turns(&[f32::NEG_INFINITY]);
        assert!(evidence(&sample).abs() < 1e-6);
        sample.tf = vec![vec![1]];
        assert!((evidence(&sample) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn without_similarities_one_word_in_common_is_an_answer_and_none_is_not() {
        let mut sample = Sample { cosine: None, ..Sample::of_turns(&[0.0; 3]) };
        sample.tf = vec![vec![0, 0, 0]];
        assert!(nothing_relevant(&sample.view().scene(), 0.5));
        sample.tf = vec![vec![0, 1, 0], vec![0, 0, 0]];
        assert!(!nothing_relevant(&sample.view().scene(), 0.5));
    }

    /// From the formula, in f64.
    fn textbook_of(sample: &Sample, row: usize) -> f64 {
        let total: f64 = (0..sample.tf.len()).map(|term| sample.textbook_idf(term)).sum();
        let terms = (0..sample.tf.len()).filter(|&term| sample.tf[term][row] > 0);
        let held: f64 = terms.map(|term| sample.textbook_idf(term)).sum();
        let coverage = if total > 0.0 { held / total } else { 0.0 };
        let cosine = f64::from(sample.cosine.as_ref().map_or(0.0, |cosine| cosine[row]));
        (cosine + 0.5 * coverage) * (80.0 / f64::from(sample.tokens[row])).min(1.0).powf(0.25)
    }

    fn textbook_floor(memories: usize, tokens: u64, floor: f64) -> f64 {
        let n = memories as f64 * (tokens as f64 / memories as f64 / 40.0).max(1.0).sqrt();
        if memories < 10 {
            f64::NEG_INFINITY
        } else if n <= 500.0 {
            floor - 0.1 * (500.0 / n).ln()
        } else {
            floor + 0.04 * (n.min(10_000.0) / 500.0).ln()
        }
    }

    /// As the evidence of the others among 500 turns: their own best, less what their floor has on an embedder's.
    fn textbook_among_500(sample: &Sample, left_out: usize) -> f64 {
        let rows: Vec<usize> = (0..sample.len()).filter(|row| *row != left_out).collect();
        let best = rows.iter().map(|row| textbook_of(sample, *row)).fold(f64::NEG_INFINITY, f64::max);
        let tokens = rows.iter().map(|row| u64::from(sample.tokens[*row])).sum();
        best - textbook_floor(rows.len(), tokens, 0.0)
    }

    /// The floor where late interaction counts.
    fn textbook_late_floor(memories: usize, tokens: u64, floor: f64) -> f64 {
        let n = (memories as f64 * tokens as f64 / 40.0).sqrt();
        if n <= 500.0 { floor - 0.15 * (500.0 / n).ln() } else { floor + 0.04 * (n.min(10_000.0) / 500.0).ln() }
    }

    proptest! {
        #[test]
        fn late_interaction_decides_by_the_formula(
            sample in Sample::any(), floor in 0.0_f64..2.0, late in prop::collection::vec(-1.0_f32..1.0, 5)
        ) {
            let Some(doubt) = doubt(&sample.view().scene(), floor as f32) else { return Ok(()) };
            let each: Vec<f64> = (0..sample.len()).map(|row| textbook_of(&sample, row)).collect();
            let windows: Vec<Vec<usize>> = doubt.windows().map(|rows| rows.iter().map(|row| *row as usize).collect()).collect();
            let rows: Vec<usize> = windows.iter().map(|rows| rows[0]).collect();
            for rows in &windows {
                let sittings = sample.textbook_sittings();
                let sitting = sittings.iter().find(|rows_of| rows_of.contains(&rows[0])).expect("seated");
                let at = sitting.iter().position(|row| *row == rows[0]).expect("there");
                let beside: Vec<usize> = sitting[..at].iter().rev().take(1).chain(sitting[at + 1..].iter().take(1)).copied().collect();
                prop_assert_eq!(&rows[1..], beside.as_slice());
            }
            prop_assert_eq!(rows.len(), sample.len().min(5));
            let least = rows.iter().map(|row| each[*row]).fold(f64::INFINITY, f64::min);
            prop_assert!((0..each.len()).all(|row| rows.contains(&row) || each[row] <= least + 1e-3));
            let factor = |rows: &Vec<usize>| (80.0 / rows.iter().map(|row| f64::from(sample.tokens[*row])).sum::<f64>()).min(1.0).powf(0.25);
            let counted = windows.iter().zip(&late).map(|(rows, late)| f64::from(*late) * factor(rows)).fold(0.0, f64::max);
            let tokens = sample.tokens.iter().map(|tokens| u64::from(*tokens)).sum();
            let best = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let over = best + counted - textbook_late_floor(sample.len(), tokens, floor);
            prop_assert!(over.abs() < 1e-3 || doubt.nothing_relevant(&late) == (over < 0.0), "{}", over);
        }

        #[test]
        fn the_evidence_is_that_of_the_formula(sample in Sample::any()) {
            let expected = (0..sample.len()).map(|row| textbook_of(&sample, row)).fold(f64::NEG_INFINITY, f64::max);
            let got = f64::from(evidence(&sample));
            prop_assert!(sample.is_empty() || (got - expected).abs() < 1e-3, "{got} {expected}");
        }

        #[test]
        fn without_the_memory_it_was_taken_from_a_query_has_the_evidence_of_the_others(sample in Sample::any(), at in 0_usize..40) {
            prop_assume!(at < sample.len());
            let got = evidence_among_500(&sample.view().scene(), Some(at));
            prop_assert_eq!(got.is_none(), sample.len() <= FEWEST);
            if let Some(got) = got {
                let expected = textbook_among_500(&sample, at);
                prop_assert!((f64::from(got) - expected).abs() < 1e-3, "{got} {expected}");
            }
        }

        #[test]
        fn the_floor_is_that_of_the_formula_and_never_falls(
            (memories, more) in (0_usize..2_000_000, 0_usize..1000), (tokens, longer) in (0_u64..90_000_000, 0_u64..1000), floor in -1.0_f32..2.0
        ) {
            let got = floor_for(Extent { memories, tokens }, floor);
            let expected = textbook_floor(memories, tokens, f64::from(floor));
            prop_assert!(memories < FEWEST && got.is_infinite() || (f64::from(got) - expected).abs() < 1e-4);
            let larger = Extent { memories: memories + more, tokens: tokens + longer };
            prop_assert!(floor_for(larger, floor) >= got);
        }

        #[test]
        fn what_adds_evidence_never_turns_an_answer_into_a_refusal(cosine in 0.0_f32..1.0, more in 0.0_f32..0.5, n in 10_usize..50, floor in 0.0_f32..1.0) {
            let refused = |cosine: f32| {
                let sample = Sample::of_turns(&vec![cosine; n]);
                nothing_relevant(&sample.view().scene(), floor)
            };
            prop_assert!(refused(cosine) || !refused(cosine + more));
        }
    }
}
