//! Any lines, budget and counter: what is packed counts what it says, and no more than the budget.
use std::collections::HashSet;
use std::convert::Infallible;

use arbitrary::{Arbitrary, Unstructured};
use retentive_core::pack::{
    AdditiveCount, Excerpting, Length, Line, Packed, Section, Sources, Wanted, pack_context, pack_context_additive,
    select,
};

#[derive(Debug, Arbitrary)]
struct Said {
    text: String,
    role: String,
    name: Option<String>,
    ts: i64,
    turn: Option<i64>,
}

impl Said {
    fn line(&self) -> Line<'_> {
        Line { text: &self.text, role: &self.role, name: self.name.as_deref(), ts: self.ts, turn: self.turn }
    }
}

/// What a caller's counter may be.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Counter {
    Characters,
    Constant(u64),
    /// Falls where texts grow.
    Backwards,
    /// Any number, the same for the same text.
    Any(u64),
}

impl Counter {
    fn count(self, text: &str) -> u64 {
        match self {
            Self::Characters => text.chars().count() as u64,
            Self::Constant(count) => count,
            Self::Backwards => 10_000_u64.saturating_sub(text.len() as u64),
            Self::Any(seed) => {
                text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
            }
        }
    }
}

#[derive(Debug, Arbitrary)]
struct Asked {
    pinned: Vec<Said>,
    recent: Vec<Said>,
    retrieved: Vec<Said>,
    recent_of: Vec<Option<u8>>,
    limit: Option<u8>,
    budget: u16,
    counter: Counter,
    length: Option<u16>,
    counts: Vec<u64>,
}

pub fn check(bytes: &[u8]) {
    if let Ok(asked) = Asked::arbitrary(&mut Unstructured::new(bytes)) {
        check_block(&asked);
        check_selection(&asked);
    }
}

fn lines(said: &[Said]) -> Vec<Line<'_>> {
    said.iter().map(Said::line).collect()
}

fn check_block(asked: &Asked) {
    let (pinned, recent, retrieved) = (lines(&asked.pinned), lines(&asked.recent), lines(&asked.retrieved));
    let mut taken = HashSet::new();
    let recent_of: Vec<Option<usize>> = (0..retrieved.len())
        .map(|at| asked.recent_of.get(at).copied().flatten().map(usize::from))
        .map(|turn| turn.filter(|turn| *turn < recent.len() && taken.insert(*turn)))
        .collect();
    let limit = asked.limit.map(usize::from);
    let wanted =
        Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, order: &[], recent_of: &recent_of, limit, sources: None };
    let budget = u64::from(asked.budget);
    let mut answers = |sentences: &[&str]| Ok::<_, Infallible>(sentences.iter().map(|one| one.len() as f32).collect());
    let mut excerpting =
        asked.length.map(|length| Excerpting { length: Length::Tokens(length.into()), answers: &mut answers });
    let Ok(packed) = pack_context(&wanted, budget, &mut |text| Ok(asked.counter.count(text)), excerpting.as_mut());
    assert_eq!(packed.tokens, asked.counter.count(&packed.text), "{asked:?}");
    expect_right(&wanted, &packed, budget, asked);

    let Ok(summed) = pack_context_additive::<Infallible>(&wanted, budget, &AdditiveCount::built_in(), None);
    let mut estimate = |text: &str| Ok::<_, Infallible>(u64::from(retentive_core::tokens::estimate(text)));
    let Ok(counted) = pack_context(&wanted, budget, &mut estimate, None);
    assert_eq!(summed, counted, "{asked:?}");
    expect_right(&wanted, &summed, budget, asked);
}

fn expect_right(wanted: &Wanted, packed: &Packed, budget: u64, asked: &Asked) {
    // What may not be cut alone may be over.
    let bare = packed.retrieved.is_empty() && packed.recent_from == wanted.recent.len();
    assert!(packed.tokens <= budget || bare && packed.truncated, "{asked:?}: {packed:?}");
    assert_eq!(packed.excerpts.len(), packed.retrieved.len());
    assert!(wanted.limit.is_none_or(|limit| packed.retrieved.len() <= limit));
    let kept: HashSet<usize> = packed.retrieved.iter().copied().collect();
    assert_eq!(kept.len(), packed.retrieved.len(), "twice: {asked:?}");
    let named = |section, index| packed.dropped.iter().filter(|(of, at, _)| (*of, *at) == (section, index)).count();
    // A turn that was retrieved too is one memory: in the block once, or named once, as a recent turn.
    for index in 0..wanted.retrieved.len() {
        let turn = wanted.recent_of[index];
        let shown =
            usize::from(kept.contains(&index)) + usize::from(turn.is_some_and(|turn| turn >= packed.recent_from));
        let left_out = named(Section::Retrieved, index) + turn.map_or(0, |turn| named(Section::Recent, turn));
        assert_eq!(shown + left_out, 1, "retrieved {index} is shown or named not once: {asked:?}: {packed:?}");
        assert!(turn.is_none() || named(Section::Retrieved, index) == 0, "{asked:?}: {packed:?}");
    }
    for turn in (0..wanted.recent.len()).filter(|turn| !wanted.recent_of.contains(&Some(*turn))) {
        let shown = usize::from(turn >= packed.recent_from);
        assert_eq!(
            shown + named(Section::Recent, turn),
            1,
            "turn {turn} is shown or named not once: {asked:?}: {packed:?}"
        );
    }
}

fn check_selection(asked: &Asked) {
    let budget = Some(u64::from(asked.budget));
    let count = |rank: usize| Ok::<_, Infallible>(asked.counts[rank]);
    let order: Vec<usize> = (0..asked.counts.len()).collect();
    let Ok(chosen) = select(&order, asked.limit.map(usize::from), budget, &Sources::default(), count);
    let sum: u128 = chosen.kept.iter().map(|rank| u128::from(asked.counts[*rank])).sum();
    assert_eq!(u128::from(chosen.tokens), sum.min(u128::from(u64::MAX)), "{asked:?}");
    assert!(sum <= u128::from(asked.budget) || chosen.kept == [0], "{asked:?}: {chosen:?}");
    assert_eq!(chosen.kept.len() + chosen.dropped.len(), asked.counts.len());
    assert!(chosen.kept.windows(2).all(|pair| pair[0] < pair[1]));
}
