//! Memories: their numbers, their links, and that what belongs to each is there.
use super::findings::{Place, row_of, whole};
use super::{Fault, Verifier, readable};
use crate::error::Result;
use crate::model::Kind;
use crate::store::entry::{Entry, columns};
use crate::store::rows::Seq;
use crate::store::walk::Table;

const MEMORY: Table = Table { name: "memory", key: "seq", columns: columns!() };

const KEYS_TWICE: &str = "SELECT max(seq) FROM memory WHERE key IS NOT NULL AND superseded_by IS NULL \
                          GROUP BY partition, key HAVING count(*) > 1";
const IDS_TWICE: &str = "SELECT max(seq) FROM memory GROUP BY id HAVING count(*) > 1";

impl Verifier<'_, '_> {
    pub(super) fn memories(&self) -> Result<()> {
        self.each(MEMORY, &mut |seq, found| {
            let Some(Some(entry)) = readable(Entry::read_at(found, 1), self.tx)? else { return Ok(None) };
            self.numbers_of(&entry)?;
            self.belongings(&entry)?;
            if entry.head.supersedes.is_some() || entry.head.superseded_by.is_some() {
                self.links(&entry)?;
            }
            let chained = entry.head.superseded_by.is_some() == entry.head.superseded_at.is_some();
            self.expect(chained, Fault::Chain, here(seq), "a successor without its time, or a time without one");
            Ok(Some(()))
        })?;
        self.twice(IDS_TWICE, "its id", &|one, other| one.id == other.id)?;
        self.twice(KEYS_TWICE, "its key, not superseded,", &|one, other| one.key == other.key)
    }

    fn numbers_of(&self, entry: &Entry) -> Result<()> {
        let (head, meta) = (&entry.head, &self.tx.meta);
        let given = head.seq > 0
            && head.seq < meta.next_seq
            && head.rev <= meta.rev
            && entry.parts >= 0
            && entry.vid.checked_add(entry.parts).is_some_and(|end| end <= meta.next_vid);
        self.expect(given, Fault::Number, here(head.seq), "it has a number that was never given out");
        let turn = (head.kind == Kind::Turn) == head.turn.is_some_and(|turn| turn >= 0);
        self.expect(turn, Fault::Number, here(head.seq), "a turn without a turn number, or something else with one");
        match Self::known(self.tx.scope_row(head.scope))? {
            Some(None) => self.add(Fault::Missing, here(head.seq), "its scope is not there"),
            Some(Some(scope)) => {
                let same = scope.partition == head.partition;
                self.expect(same, Fault::Number, here(head.seq), "its scope belongs to another partition");
            }
            None => {}
        }
        Ok(())
    }

    fn belongings(&self, entry: &Entry) -> Result<()> {
        let seq = entry.head.seq;
        let content = self.number("SELECT count(*) FROM content WHERE seq = ?1", [seq])?;
        self.expect(content != Some(0), Fault::Missing, here(seq), "its content is not there");
        let feedback = self.number("SELECT count(*) FROM feedback WHERE seq = ?1", [seq])?;
        if let Some(found) = feedback.filter(|found| *found != entry.feedbacks) {
            let stored = entry.feedbacks;
            self.add(Fault::Count, here(seq), format!("`feedbacks` says {stored}, there are {found}"));
        }
        self.expect_vectors(here(seq), seq, entry.vid, entry.parts)
    }

    pub(super) fn expect_vectors(&self, place: Place, seq: Seq, vid: i64, parts: i64) -> Result<()> {
        let select = "SELECT count(*) FROM vector WHERE vid BETWEEN ?1 AND ?2 AND seq = ?3";
        let found = self.number(select, [vid, vid.saturating_add(parts) - 1, seq])?;
        if let Some(found) = found.filter(|found| *found != parts) {
            self.add(Fault::Missing, place, format!("it should have {parts} vectors, it has {found}"));
        }
        Ok(())
    }

    /// Successors are younger, so there is no cycle; each has one successor, so there is no fork.
    fn links(&self, entry: &Entry) -> Result<()> {
        let head = &entry.head;
        if let Some(older) = head.supersedes {
            match Self::known(self.tx.entry(older))? {
                Some(None) => self.add(Fault::Chain, here(head.seq), "what it superseded is not there"),
                Some(Some(older)) => {
                    let both = older.head.superseded_by == Some(head.seq) && older.head.seq < head.seq;
                    self.expect(both, Fault::Chain, here(head.seq), "what it superseded does not name it as successor");
                }
                None => {}
            }
        }
        if let Some(newer) = head.superseded_by.filter(|newer| *newer != 0) {
            match Self::known(self.tx.entry(newer))? {
                Some(None) => self.add(Fault::Chain, here(head.seq), "its successor is not there"),
                Some(Some(newer)) => {
                    let both = newer.head.supersedes.is_some() && newer.head.seq > head.seq;
                    self.expect(both, Fault::Chain, here(head.seq), "its successor does not name what it superseded");
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Hashes that two memories share: they may differ in what was hashed.
    fn twice(&self, select: &str, what: &str, same: &dyn Fn(&Named, &Named) -> bool) -> Result<()> {
        let Some(doubtful) = Self::known(self.tx.numbers(select, []))? else {
            self.add(Fault::Structure, whole("memory"), "an index cannot be read");
            return Ok(());
        };
        for seq in doubtful {
            let Some(Some(entry)) = Self::known(self.tx.entry(seq))? else { continue };
            let others = "SELECT seq FROM memory WHERE id = ?1 AND seq <> ?3 UNION SELECT seq FROM memory \
                          WHERE partition = ?4 AND key = ?2 AND superseded_by IS NULL AND seq <> ?3";
            let others = self.tx.numbers(others, (entry.id, entry.key, seq, entry.head.partition));
            for other in Self::known(others)?.unwrap_or_default() {
                if let (Some(one), Some(other)) = (self.named(seq)?, self.named(other)?)
                    && same(&one, &other)
                {
                    self.add(Fault::Duplicate, here(seq), format!("{what} is another memory's too"));
                }
            }
        }
        Ok(())
    }

    fn named(&self, seq: Seq) -> Result<Option<Named>> {
        Ok(Self::known(self.tx.head_blob(seq))?.map(|head| Named { id: head.id, key: head.key }))
    }
}

struct Named {
    id: String,
    key: Option<String>,
}

fn here(seq: Seq) -> Place {
    row_of("memory", seq, seq)
}
