//! Which memories a call may see: the partitions and sessions in reach, and what is live in them.
use super::request::Reach;
use crate::error::Result;
use crate::model::Kind;
use crate::partition::{Entry, NEVER, Session};
use crate::store::Micros;
use crate::store::{Head, Nameless, Owners, ReadTx, Scope};

/// A partition, or one session of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    pub partition: i64,
    pub scope: Option<i64>,
    /// The partition is itself a session: one without a user.
    pub is_session: bool,
    /// How many memories are stored there, expired and superseded ones included.
    pub held: u64,
    /// The partition's newest rev, where it is known.
    pub rev: Option<i64>,
}

impl Reached {
    /// All of a partition.
    pub fn whole(scope: &Scope) -> Self {
        Self {
            partition: scope.id,
            scope: None,
            is_session: scope.session.is_some(),
            held: scope.owned,
            rev: Some(scope.rev),
        }
    }

    fn nameless(partition: &Nameless) -> Self {
        Self {
            partition: partition.id,
            scope: None,
            is_session: partition.has_session,
            held: partition.owned,
            rev: Some(partition.rev),
        }
    }

    /// The session, where that is not all of the partition.
    pub fn part(&self) -> Option<Session> {
        let scope = self.scope.filter(|scope| *scope != self.partition)?;
        Some(Session { scope, held: self.held })
    }

    pub fn holds(&self, head: &Head) -> bool {
        head.partition == self.partition && self.scope.is_none_or(|scope| head.scope == scope)
    }

    /// One session.
    pub fn session(scope: &Scope) -> Self {
        Self {
            partition: scope.partition,
            scope: Some(scope.id),
            is_session: scope.user.is_none(),
            held: scope.held,
            rev: None,
        }
    }
}

/// What a call reaches, in the order the partitions came to be. Empty when nothing was ever stored there.
pub(super) fn reached(tx: &ReadTx, reach: &Reach) -> Result<Vec<Reached>> {
    match (&reach.session, reach.any_user) {
        (Some(session), true) => {
            let scopes = tx.scopes(Owners::Any)?.into_iter();
            let named = scopes.filter(|scope| scope.session.as_deref() == Some(session.as_str()));
            Ok(named.map(|scope| Reached::session(&scope)).collect())
        }
        (Some(session), false) => {
            let scope = tx.scope(reach.user.as_deref(), Some(session))?;
            Ok(scope.iter().map(Reached::session).collect())
        }
        (None, any_user) => {
            let owners = match &reach.user {
                _ if any_user => Owners::Any,
                Some(user) => Owners::User(user),
                None => Owners::WithoutUser,
            };
            Ok(tx.nameless_partitions(owners)?.iter().map(Reached::nameless).collect())
        }
    }
}

/// What is live for a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admission {
    pub documents: bool,
    pub superseded: bool,
    pub now: Micros,
    pub as_of: Option<Micros>,
}

impl Admission {
    /// The instant that the read answers for: ages, expiry and feedback are told from here.
    pub fn instant(&self) -> Micros {
        self.as_of.map_or(self.now, |as_of| as_of.min(self.now))
    }

    /// Said by then, not expired by then, not superseded by anything said by then.
    pub fn admits(&self, entry: &Entry) -> bool {
        !entry.dead
            && (self.documents || entry.kind != Kind::Document)
            && entry.expires > self.as_of.unwrap_or(self.now)
            && self.as_of.is_none_or(|as_of| entry.ts <= as_of)
            && (self.superseded || self.is_current(entry))
    }

    fn is_current(&self, entry: &Entry) -> bool {
        match self.as_of {
            None => entry.superseded_at == NEVER,
            Some(as_of) => entry.superseded_at > as_of,
        }
    }
}
