//! Scopes with their names and counts, and the counters of the file.
use std::collections::{BTreeMap, BTreeSet};

use super::Salvage;
use crate::error::Result;
use crate::store::codec::{self, NamesBlob};
use crate::store::fault::At;
use crate::store::schema::Meta;
use crate::store::scopes::{COLUMNS, ScopeRow};
use crate::store::verify::Fault;
use crate::store::walk::{Table, is_damage};

const SCOPE: Table = Table { name: "scope", key: "id", columns: COLUMNS };
const NAMES: Table = Table { name: "names", key: "scope", columns: "data" };

/// A blob and the names in it; no names in one that was overwritten.
type Named = (Vec<u8>, Option<NamesBlob>);

/// What the memories say of their scopes.
#[derive(Default, Clone, Copy)]
struct Tally {
    partition: Option<i64>,
    held: i64,
    owned: i64,
    next_turn: i64,
    rev: i64,
}

impl Salvage<'_> {
    pub(super) fn save_scopes(&mut self) -> Result<()> {
        let rows = self.scope_rows()?;
        let names = self.all_names()?;
        let tallies = self.tallies();
        let ids = rows.keys().chain(names.keys()).chain(tallies.keys());
        let counted = self.meta.map_or(0, |meta| meta.next_scope - 1);
        let last = ids.copied().max().unwrap_or(0).max(if self.meta_agrees(counted) { counted } else { 0 });
        let mut known = Known { rows, names, tallies, taken: BTreeSet::new() };
        known.taken = known
            .names
            .values()
            .filter_map(|(_, names)| names.clone())
            .map(|names| (names.user, names.session))
            .collect();
        for id in 1..=last {
            self.save_scope(id, &mut known)?;
        }
        Ok(())
    }

    /// A counter that passed its checksum, and that rows can be written for.
    fn meta_agrees(&self, counted: i64) -> bool {
        counted < 100_000_000 && self.meta.is_some()
    }

    fn scope_rows(&mut self) -> Result<BTreeMap<i64, ScopeRow>> {
        let mut rows = BTreeMap::new();
        self.each(SCOPE, &mut |salvage, id, row| {
            match ScopeRow::read_at(row, 1) {
                Ok(Some(found)) => {
                    rows.insert(id, found);
                }
                Ok(None) => {
                    salvage.lose(Fault::Checksum, "scope", id, None, "its next turn number is what its turns say");
                }
                Err(error) if is_damage(&error) => {
                    salvage.lose(Fault::Checksum, "scope", id, None, "its next turn number is what its turns say");
                }
                Err(error) => return Err(error).at(salvage.path),
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// Each blob with the names in it; no names in one that was overwritten.
    fn all_names(&mut self) -> Result<BTreeMap<i64, Named>> {
        let mut names = BTreeMap::new();
        self.each(NAMES, &mut |salvage, id, row| {
            let data = match row.get_ref(1).and_then(|data| Ok(data.as_blob()?)) {
                Ok(data) => data,
                Err(error) if is_damage(&error) => &[],
                Err(error) => return Err(error).at(salvage.path),
            };
            let decoded = codec::decode_names(data, id);
            if decoded.is_some() || (!data.is_empty() && data.iter().all(|byte| *byte == 0)) {
                names.insert(id, (data.to_vec(), decoded));
            }
            Ok(())
        })?;
        Ok(names)
    }

    fn tallies(&self) -> BTreeMap<i64, Tally> {
        let mut tallies: BTreeMap<i64, Tally> = BTreeMap::new();
        for saved in self.memories.values() {
            let head = &saved.entry.head;
            let scope = tallies.entry(head.scope).or_default();
            scope.partition = Some(head.partition);
            scope.held += 1;
            scope.next_turn = scope.next_turn.max(head.turn.map_or(0, |turn| turn.saturating_add(1)));
            let partition = tallies.entry(head.partition).or_default();
            partition.partition = Some(head.partition);
            partition.owned += 1;
            partition.rev = partition.rev.max(head.rev);
        }
        tallies
    }

    fn save_scope(&mut self, id: i64, known: &mut Known) -> Result<()> {
        let tally = known.tallies.get(&id).copied().unwrap_or_default();
        let found = known.rows.get(&id).copied();
        let partition = found.map(|row| row.partition).or(tally.partition).unwrap_or(id);
        let (blob, names) = self.names_for(id, partition, tally.held + tally.owned > 0, known);
        let hash = match (&names, found) {
            (Some(names), _) => {
                self.origin.hash_key.scope(&codec::name_bytes(names.user.as_deref(), names.session.as_deref()))
            }
            (None, Some(row)) => row.hash,
            (None, None) => 0,
        };
        let has_user = names.as_ref().map(|names| i64::from(names.user.is_some()));
        let rev = found.map_or(0, |row| row.rev).max(tally.rev);
        let row = ScopeRow {
            id,
            hash,
            partition,
            has_user: has_user.or(found.map(|row| row.has_user)).unwrap_or(0),
            next_turn: found.map_or(0, |row| row.next_turn).max(tally.next_turn),
            rev,
            held: tally.held,
            owned: tally.owned,
            tombstones: 0,
            pruned_below: rev,
        };
        row.insert(self.new).at(self.into)?;
        self.new
            .prepare_cached("INSERT INTO names VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute((id, blob)))
            .at(self.into)?;
        self.report.count("scope");
        self.report.count("names");
        Ok(())
    }

    /// The names as they were; where they are lost and something is held under them, new ones, of a user where there was one.
    fn names_for(&mut self, id: i64, partition: i64, held: bool, known: &mut Known) -> (Vec<u8>, Option<NamesBlob>) {
        let found = known.names.get(&id).cloned();
        match found {
            Some((blob, Some(names))) if held => return (blob, Some(names)),
            Some((blob, _)) if !held => return (vec![0; blob.len()], None),
            None if !held => return (vec![0; codec::SUM + 2], None),
            _ => {}
        }
        let names = known.made_up(id, partition);
        self.lose(
            Fault::Missing,
            "names",
            id,
            None,
            "the names of its user and session are lost: see `recovered` in the list of users and sessions",
        );
        let blob = codec::encode_names(names.user.as_deref(), names.session.as_deref(), id);
        known
            .names
            .insert(id, (blob.clone(), Some(NamesBlob { user: names.user.clone(), session: names.session.clone() })));
        (blob, Some(names))
    }

    pub(super) fn save_counters(&mut self) -> Result<()> {
        let highest = |select: &str| self.new.query_row(select, [], |row| row.get::<_, i64>(0)).at(self.into);
        let old = self.meta;
        let seq = highest("SELECT coalesce(max(seq), 0) + 1 FROM memory")?;
        let vid = highest(
            "SELECT max((SELECT coalesce(max(vid), 0) FROM vector), (SELECT coalesce(max(vid + parts), 0) FROM memory)) + 1",
        )?;
        let rev = highest(
            "SELECT max((SELECT coalesce(max(rev), 0) FROM scope), (SELECT coalesce(max(rev), 0) FROM memory)) + 1",
        )?;
        let scopes = highest("SELECT coalesce(max(id), 0) + 1 FROM scope")?;
        let fresh = Meta::new(&self.entropy);
        let meta = Meta {
            rev: rev.max(old.map_or(0, |meta| meta.rev)),
            next_seq: seq.max(old.map_or(0, |meta| meta.next_seq)),
            next_vid: vid.max(old.map_or(0, |meta| meta.next_vid)),
            next_scope: scopes,
            ..fresh
        };
        meta.store(self.new).at(self.into)?;
        self.origin.store(self.new).at(self.into)?;
        self.report.count("meta");
        self.report.count("origin");
        Ok(())
    }
}

struct Known {
    rows: BTreeMap<i64, ScopeRow>,
    names: BTreeMap<i64, Named>,
    tallies: BTreeMap<i64, Tally>,
    taken: BTreeSet<(Option<String>, Option<String>)>,
}

impl Known {
    /// Names that nobody has. What may have had a user gets one: nothing becomes visible to calls without a user.
    fn made_up(&mut self, id: i64, partition: i64) -> NamesBlob {
        let row = self.rows.get(&id).or_else(|| self.rows.get(&partition));
        let has_user = row.is_none_or(|row| row.has_user != 0);
        let relative = self.names.iter().find_map(|(other, (_, names))| {
            let same =
                self.rows.get(other).map(|row| row.partition).or(self.tallies.get(other)?.partition) == Some(partition);
            names.as_ref().filter(|_| same).and_then(|names| names.user.clone())
        });
        let user = has_user.then(|| relative.unwrap_or_else(|| format!("recovered-user-{partition}")));
        let mut session = (id != partition || user.is_none()).then(|| format!("recovered-{id}"));
        while !self.taken.insert((user.clone(), session.clone())) {
            session = Some(format!("{}+", session.unwrap_or_else(|| format!("recovered-{id}"))));
        }
        NamesBlob { user, session }
    }
}
