//! Scopes: their names, their counts, and the tombstones of their partitions.
use super::findings::{row, whole};
use super::{Fault, Verifier, readable, zeroes};
use crate::error::Result;
use crate::store::codec;
use crate::store::scopes::{COLUMNS, ScopeRow};
use crate::store::walk::Table;

const SCOPE: Table = Table { name: "scope", key: "id", columns: COLUMNS };
const NAMES: Table = Table { name: "names", key: "scope", columns: "data" };

impl Verifier<'_, '_> {
    pub(super) fn scopes(&self) -> Result<()> {
        let mut count = 0;
        self.each(SCOPE, &mut |id, found| {
            count += 1;
            self.expect(id == count, Fault::Number, row("scope", id), "ids of scopes have a gap");
            let Some(Some(scope)) = readable(ScopeRow::read_at(found, 1), self.tx)? else { return Ok(None) };
            self.scope_counts(&scope)?;
            self.scope_owner(&scope)?;
            Ok(Some(()))
        })?;
        let expected = self.tx.meta.next_scope - 1;
        if count != expected {
            self.add(Fault::Count, whole("scope"), format!("there should be {expected} scopes, there are {count}"));
        }
        self.names()?;
        self.tombstones()
    }

    fn scope_counts(&self, scope: &ScopeRow) -> Result<()> {
        let here = row("scope", scope.id);
        let held = self.number("SELECT count(*) FROM memory WHERE scope = ?1", [scope.id])?;
        let owned = self.number("SELECT count(*) FROM memory WHERE partition = ?1", [scope.id])?;
        let tombstones = self.number("SELECT count(*) FROM tombstone WHERE partition = ?1", [scope.id])?;
        for (name, stored, found) in
            [("held", scope.held, held), ("owned", scope.owned, owned), ("tombstones", scope.tombstones, tombstones)]
        {
            if let Some(found) = found.filter(|found| *found != stored) {
                self.add(Fault::Count, here, format!("`{name}` says {stored}, there are {found}"));
            }
        }
        let newest = self.number("SELECT coalesce(max(rev), 0) FROM memory WHERE partition = ?1", [scope.id])?;
        let gone = self.number("SELECT coalesce(max(rev), 0) FROM tombstone WHERE partition = ?1", [scope.id])?;
        let newest = newest.max(gone).unwrap_or(0);
        self.expect(scope.rev >= newest, Fault::Number, here, "its rev is older than that of one of its memories");
        let known = scope.rev <= self.tx.meta.rev && scope.pruned_below <= scope.rev;
        self.expect(known, Fault::Number, here, "its rev was never given out");
        let last = self.number("SELECT coalesce(max(turn), -1) FROM memory WHERE scope = ?1", [scope.id])?;
        let ahead = last.is_none_or(|last| scope.next_turn > last);
        self.expect(ahead, Fault::Number, here, "its next turn number is in use");
        Ok(())
    }

    fn scope_owner(&self, scope: &ScopeRow) -> Result<()> {
        let here = row("scope", scope.id);
        let owner = if scope.partition == scope.id {
            Some(Some(*scope))
        } else {
            Self::known(self.tx.scope_row(scope.partition))?
        };
        match owner {
            Some(None) => self.add(Fault::Missing, here, "its partition is not there"),
            Some(Some(owner)) => {
                let same = owner.partition == owner.id && owner.has_user == scope.has_user;
                self.expect(same, Fault::Number, here, "its partition is not one");
            }
            None => {}
        }
        let named = self.number("SELECT count(*) FROM names WHERE scope = ?1", [scope.id])?;
        self.expect(named != Some(0), Fault::Missing, here, "its names are not there");
        Ok(())
    }

    fn names(&self) -> Result<()> {
        self.each(NAMES, &mut |id, found| {
            let Some(data) = readable(found.get_ref(1).and_then(|data| Ok(data.as_blob()?)), self.tx)? else {
                return Ok(None);
            };
            let here = row("names", id);
            let scope = match Self::known(self.tx.scope_row(id))? {
                Some(Some(scope)) => Some(scope),
                Some(None) => {
                    self.add(Fault::Missing, here, "its scope is not there");
                    None
                }
                None => None,
            };
            if zeroes(data) {
                let empty = scope.is_none_or(|scope| scope.is_empty());
                self.expect(empty, Fault::Missing, here, "the names were overwritten, and the scope is not empty");
                return Ok(Some(()));
            }
            let Some(names) = codec::decode_names(data, id) else { return Ok(None) };
            let Some(scope) = scope else { return Ok(Some(())) };
            let bytes = codec::name_bytes(names.user.as_deref(), names.session.as_deref());
            let same = self.tx.hash_key().scope(&bytes) == scope.hash && names.user.is_some() == (scope.has_user != 0);
            self.expect(same, Fault::Number, here, "these are the names of another scope");
            Ok(Some(()))
        })
    }

    /// In the order of their key, which no row number stands for.
    fn tombstones(&self) -> Result<()> {
        let meta = &self.tx.meta;
        let count = Self::known(self.tx.numbers("SELECT count(*) FROM tombstone", []))?;
        let Some(count) = count.and_then(|count| count.first().copied()) else {
            self.add(Fault::Structure, whole("tombstone"), "the table cannot be read");
            return Ok(());
        };
        self.report.borrow_mut().checked.insert("tombstone", u64::try_from(count).unwrap_or(0));
        let wrong = [
            ("a memory that is said to be gone is there", "seq IN (SELECT seq FROM memory)"),
            ("a number that was never given out", "rev > ?1 OR rev < 1 OR seq >= ?2 OR seq < 1"),
            ("of a partition that is not there", "partition NOT IN (SELECT id FROM scope WHERE id = partition)"),
        ];
        for (what, condition) in wrong {
            let select = format!(
                "SELECT seq FROM tombstone WHERE ({condition}) AND (?1 IS NOT NULL OR ?2 IS NOT NULL) LIMIT 1000"
            );
            for seq in Self::known(self.tx.numbers(&select, [meta.rev, meta.next_seq]))?.unwrap_or_default() {
                self.add(Fault::Number, row("tombstone", seq), what);
            }
        }
        Ok(())
    }
}
