//! `context`: pinned facts, the recent turns of a session, and what recall finds beside them, from one snapshot.
use std::collections::HashSet;

use super::Engine;
use super::admit::{Admission, Reached, reached};
use super::read::memories;
use super::recall::Plan;
use super::request::{ContextParts, ContextRequest, Memory, Reach};
use super::view::View;
use crate::error::Result;
use crate::model::Kind;
use crate::pack::recent_share;
use crate::store::{Interrupt, Micros, ReadTx, Seq};

/// What a context line adds to the text of a memory: its speaker, and its share of the date above.
const LINE_TOKENS: u32 = 2;

impl Engine {
    /// With a user, pinned facts and recalled memories come from everything the user owns; without, from the session, and the pinned
    /// facts of no session. A filter, kinds and exclusions are for what is recalled: pinned facts and recent turns are always there,
    /// recent turns as they were said, also when they were superseded since.
    pub fn context(&self, request: &ContextRequest, interrupt: Interrupt) -> Result<ContextParts> {
        let mut reach = request.recall.reach.clone();
        if reach.user.is_some() {
            reach.session = None;
        }
        let plan = Plan::new(self, &request.recall, reach)?;
        self.snapshot(interrupt, |view| parts(view, request, &plan))
    }
}

fn parts(view: &View, request: &ContextRequest, plan: &Plan) -> Result<Option<ContextParts>> {
    let Some(pinned) = pinned(view, &plan.reach, &plan.admission)? else { return Ok(None) };
    let recent = recent(view.tx, request, &plan.admission)?;
    let (facts, turns) = (memories(view.tx, &pinned)?, memories(view.tx, &recent)?);
    let room = request.recall.token_budget.map(|budget| (budget as u64).saturating_sub(tokens(&facts)));
    let certain = turns.len() - surely_shown(&turns, room);
    let shown: HashSet<Seq> = pinned.iter().chain(recent.iter().skip(certain)).copied().collect();
    let Some(ranked) = plan.rank(view, &shown, LINE_TOKENS)? else { return Ok(None) };
    Ok(Some(ContextParts { pinned: facts, recent: turns, ranked }))
}

/// How many of the newest turns the recent part shows whatever is retrieved, by the estimate. Those before them may be retrieved.
fn surely_shown(turns: &[Memory], room: Option<u64>) -> usize {
    let Some(room) = room else { return turns.len() };
    let mut left = recent_share(room);
    let fits = |turn: &&Memory| {
        let rest = left.checked_sub(tokens(std::slice::from_ref(*turn)));
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    turns.iter().rev().take_while(fits).count().max(1).min(turns.len())
}

fn tokens(memories: &[Memory]) -> u64 {
    memories.iter().map(|memory| u64::from(memory.tokens.saturating_add(LINE_TOKENS))).sum()
}

/// Live pinned facts, oldest first; `None`: a fresh snapshot, please.
fn pinned(view: &View, reach: &Reach, admission: &Admission) -> Result<Option<Vec<Seq>>> {
    let admission = Admission { superseded: false, ..*admission };
    let mut dated: Vec<(Micros, Seq)> = Vec::new();
    for reached in pinned_reach(view.tx, reach)? {
        let Some(gathered) = view.gather_from(&[reached], &admission)? else { return Ok(None) };
        let kinds = gathered.fixed();
        let pinned = kinds.kind.iter().enumerate().filter(|(_, kind)| **kind == Kind::Pinned);
        dated.extend(pinned.filter_map(|(row, _)| gathered.entry(row)).map(|entry| (entry.ts, entry.seq)));
    }
    dated.sort_unstable();
    Ok(Some(dated.into_iter().map(|(_, seq)| seq).collect()))
}

fn pinned_reach(tx: &ReadTx, reach: &Reach) -> Result<Vec<Reached>> {
    if reach.any_user || reach.user.is_some() {
        return reached(tx, reach);
    }
    let session = match &reach.session {
        Some(_) => reached(tx, reach)?,
        None => Vec::new(),
    };
    let collection = tx.scope(None, None)?.map(|scope| Reached::whole(&scope));
    Ok(session.into_iter().chain(collection).collect())
}

/// The session's last turns, oldest first, none older than the thread's cap.
fn recent(tx: &ReadTx, request: &ContextRequest, admission: &Admission) -> Result<Vec<Seq>> {
    let wanted = request.recent_turns.min(request.recall.settings.max_turns.unwrap_or(usize::MAX));
    let session = request.recent_session.as_deref();
    let Some(session) = session.filter(|_| wanted > 0) else { return Ok(Vec::new()) };
    let Some(scope) = tx.scope(request.recall.reach.user.as_deref(), Some(session))? else { return Ok(Vec::new()) };
    let Some(as_of) = admission.as_of else { return tx.turns(scope.id, Some(wanted), admission.now) };
    let mut said = Vec::new();
    for seq in tx.turns(scope.id, None, as_of)? {
        if tx.head(seq)?.is_some_and(|head| head.ts <= as_of) {
            said.push(seq);
        }
    }
    Ok(said.split_off(said.len().saturating_sub(wanted)))
}
