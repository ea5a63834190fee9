//! Reads without ranking: turns, history, facts, by id, counts and names.
use std::collections::HashMap;

use super::admit::{Reached, reached};
use super::record;
use super::remember::is_live;
use super::request::{Memory, Reach};
use super::view::of_slot;
use super::{Engine, filter};
use crate::error::{Error, Result};
use crate::store::{Head, Interrupt, Micros, Owners, ReadTx, Scan, Seq};

impl Engine {
    /// The session's turns in order, not expired, the last `limit`; superseded ones too, since they were said.
    pub fn turns(
        &self,
        session: &str,
        user: Option<&str>,
        limit: Option<usize>,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Vec<Memory>> {
        self.read(interrupt, |tx| {
            let Some(scope) = tx.scope(user, Some(session))? else { return Ok(Vec::new()) };
            memories(tx, &tx.turns(scope.id, limit, now)?)
        })
    }

    /// The whole chain that the memory is in, oldest first.
    pub fn history(&self, id: &str, interrupt: Interrupt) -> Result<Vec<Memory>> {
        self.read(interrupt, |tx| {
            let head = tx.find(id)?.ok_or_else(|| Error::NotFound { id: id.to_owned() })?;
            memories(tx, &tx.chain(head.seq)?)
        })
    }

    /// The live fact under this key of the user, else of the session, else of the collection.
    pub fn fact(
        &self,
        key: &str,
        user: Option<&str>,
        session: Option<&str>,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Option<Memory>> {
        self.read(interrupt, |tx| {
            let Some(owner) = tx.owner(user, session)? else { return Ok(None) };
            let holder = tx.keyed(owner, key)?.filter(|head| is_live(head.expires, now));
            let seqs: Vec<Seq> = holder.iter().map(|head| head.seq).collect();
            Ok(memories(tx, &seqs)?.into_iter().next())
        })
    }

    /// The owner's live keyed facts, by key.
    pub fn facts(
        &self,
        user: Option<&str>,
        session: Option<&str>,
        now: Micros,
        interrupt: Interrupt,
    ) -> Result<Vec<Memory>> {
        self.read(interrupt, |tx| {
            let Some(owner) = tx.owner(user, session)? else { return Ok(Vec::new()) };
            let mut facts = memories(tx, &tx.keyed_all(owner)?)?;
            facts.retain(|fact| fact.superseded_by.is_none() && is_live(fact.expires, now));
            facts.sort_by(|a, b| a.key.cmp(&b.key));
            Ok(facts)
        })
    }

    /// By id, in the order asked; `None` for what is not there or has expired.
    pub fn get(&self, ids: &[String], now: Micros, interrupt: Interrupt) -> Result<Vec<Option<Memory>>> {
        self.read(interrupt, |tx| {
            let found = ids.iter().map(|id| {
                let head = tx.find(id)?.filter(|head| is_live(head.expires, now));
                let seqs: Vec<Seq> = head.iter().map(|head| head.seq).collect();
                Ok(memories(tx, &seqs)?.into_iter().next())
            });
            found.collect()
        })
    }

    /// The first model's vectors as they were given, by id; `None` for what is not there, empty for what has none.
    pub fn vectors(&self, ids: &[String], interrupt: Interrupt) -> Result<Vec<Option<Vec<Vec<f32>>>>> {
        self.read(interrupt, |tx| {
            let found = ids.iter().map(|id| tx.find(id)?.map(|head| tx.vectors(head.seq)).transpose());
            found.map(|vectors| Ok(vectors?.map(|vectors| of_slot(0, vectors)))).collect()
        })
    }

    /// How many are stored and not expired, what was superseded included (the filter can leave it out).
    pub fn count(&self, reach: &Reach, filter: Option<&str>, now: Micros, interrupt: Interrupt) -> Result<usize> {
        let filter = filter::parse(filter)?;
        self.read(interrupt, |tx| {
            let reached = reached(tx, reach)?;
            match &filter {
                None => unexpired(tx, &reached, now),
                Some(filter) => filter.count(tx, &live(tx, &reached, now)?),
            }
        })
    }

    /// The names of the sessions in which something is stored that has not expired, sorted.
    pub fn sessions(&self, reach: &Reach, now: Micros, interrupt: Interrupt) -> Result<Vec<String>> {
        self.read(interrupt, |tx| {
            let owners = match &reach.user {
                _ if reach.any_user => Owners::Any,
                Some(user) => Owners::User(user),
                None => Owners::WithoutUser,
            };
            let expired = expired_by(tx, now, |head| head.scope)?;
            let held = tx.scopes(owners)?.into_iter().filter(|scope| outlives(&expired, scope.id, scope.held));
            let mut names: Vec<String> = held.filter_map(|scope| scope.session).collect();
            names.sort_unstable();
            names.dedup();
            Ok(names)
        })
    }

    /// The names of the users who own something that has not expired, sorted.
    pub fn users(&self, now: Micros, interrupt: Interrupt) -> Result<Vec<String>> {
        self.read(interrupt, |tx| {
            let expired = expired_by(tx, now, |head| head.partition)?;
            let owning =
                tx.partitions(Owners::Any)?.into_iter().filter(|owner| outlives(&expired, owner.id, owner.owned));
            let mut names: Vec<String> = owning.filter_map(|owner| owner.user).collect();
            names.sort_unstable();
            names.dedup();
            Ok(names)
        })
    }
}

/// All that is stored, less what has expired: no need to look at each.
fn unexpired(tx: &ReadTx, reached: &[Reached], now: Micros) -> Result<usize> {
    let mut count: u64 = reached.iter().map(|reached| reached.held).sum();
    tx.heads(Scan::Expired(now), &mut |head| {
        count = count.saturating_sub(u64::from(reached.iter().any(|reached| reached.holds(head))));
        Ok(())
    })?;
    Ok(count as usize)
}

/// How many have expired and are not deleted yet, by what `of` says.
fn expired_by(tx: &ReadTx, now: Micros, of: impl Fn(&Head) -> i64) -> Result<HashMap<i64, u64>> {
    let mut expired = HashMap::new();
    tx.heads(Scan::Expired(now), &mut |head| {
        *expired.entry(of(head)).or_default() += 1;
        Ok(())
    })?;
    Ok(expired)
}

fn outlives(expired: &HashMap<i64, u64>, id: i64, stored: u64) -> bool {
    expired.get(&id).is_none_or(|expired| *expired < stored)
}

fn live(tx: &ReadTx, reached: &[Reached], now: Micros) -> Result<Vec<Seq>> {
    let mut seqs = Vec::new();
    for reached in reached {
        let scan = reached.scope.map_or(Scan::Partition(reached.partition), Scan::Scope);
        tx.heads(scan, &mut |head| {
            if is_live(head.expires, now) {
                seqs.push(head.seq);
            }
            Ok(())
        })?;
    }
    Ok(seqs)
}

pub(super) fn memories(tx: &ReadTx, seqs: &[Seq]) -> Result<Vec<Memory>> {
    Ok(tx.rows(seqs)?.into_iter().map(record::memory).collect())
}
