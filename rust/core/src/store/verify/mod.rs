//! Reading everything: each checksum, SQLite's own check, and what `docs/format.md` promises of the rows together.
mod contents;
mod findings;
mod memories;
mod scopes;
mod structure;

use std::cell::RefCell;

use rusqlite::Row;

use super::fault::At;
use super::read::ReadTx;
use super::walk::{self, Table, Visit, is_damage};
use crate::error::{Error, Result};
use findings::{Place, row, whole};

pub use findings::{Fault, Problem, Report};

impl ReadTx<'_> {
    /// Reads everything in this snapshot. What is damaged is listed, and does not stop it; `stop` is asked at every row.
    pub fn verify(&self, stop: &dyn Fn() -> bool) -> Result<Report> {
        let verifier = Verifier { tx: self, stop, report: RefCell::default() };
        verifier.structure()?;
        verifier.models()?;
        verifier.scopes()?;
        verifier.memories()?;
        verifier.contents()?;
        Ok(verifier.report.into_inner())
    }
}

struct Verifier<'a, 'tx> {
    tx: &'a ReadTx<'tx>,
    stop: &'a dyn Fn() -> bool,
    report: RefCell<Report>,
}

/// An error of a walk: the walk's own is SQLite's.
enum Ended {
    Sql(rusqlite::Error),
    Core(Error),
}

impl From<rusqlite::Error> for Ended {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Verifier<'_, '_> {
    fn add(&self, kind: Fault, place: Place, what: impl Into<String>) {
        let id = place.seq.and_then(|seq| self.tx.head_blob(seq).ok()).map(|head| head.id);
        let Place { table, row, .. } = place;
        self.report.borrow_mut().add(Problem { kind, table, row, id, what: what.into() });
    }

    fn expect(&self, fine: bool, kind: Fault, place: Place, what: &str) {
        if !fine {
            self.add(kind, place, what);
        }
    }

    /// What a look-up found. Damage is another row's, which is read and listed on its own: `None`.
    fn known<T>(found: Result<T>) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Error::Corrupt { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every row of a table: `check` says what is wrong with it, or `None` where it does not even match its checksum.
    fn each(&self, table: Table, check: &mut dyn FnMut(i64, &Row<'_>) -> Result<Option<()>>) -> Result<()> {
        let walked = walk::walk::<Ended>(&self.tx.conn.sql, table, &mut |visit| {
            if (self.stop)() {
                return Err(Ended::Core(Error::Interrupted));
            }
            match visit {
                Visit::Gap(from, to) => self.unreadable(table, from, to),
                Visit::Row(key, found) => {
                    self.report.borrow_mut().count(table.name);
                    if check(key, found).map_err(Ended::Core)?.is_none() {
                        let of_memory = matches!(table.name, "memory" | "content" | "incoming").then_some(key);
                        let place = Place { seq: of_memory, ..row(table.name, key) };
                        self.add(Fault::Checksum, place, "does not match its checksum");
                    }
                }
            }
            Ok(())
        });
        match walked {
            Ok(()) => Ok(()),
            Err(Ended::Core(error)) => Err(error),
            Err(Ended::Sql(error)) if is_damage(&error) => {
                self.add(Fault::Structure, whole(table.name), "the table cannot be read");
                Ok(())
            }
            Err(Ended::Sql(error)) => Err(error).at(self.tx.path()),
        }
    }

    fn unreadable(&self, table: Table, from: i64, to: i64) {
        let what = if to == i64::MAX {
            format!("from row {from} on, a part of the table cannot be read")
        } else {
            format!("rows {from} to {to}, as far as there are such, cannot be read")
        };
        self.add(Fault::Structure, row(table.name, from), what);
    }

    /// A number of a query. `None`: the file is too damaged to say.
    fn number(&self, select: &str, parameters: impl rusqlite::Params) -> Result<Option<i64>> {
        Ok(Self::known(self.tx.numbers(select, parameters))?.and_then(|found| found.first().copied()))
    }
}

/// A value, or `None` where the row holds something else than it should.
fn readable<T>(found: rusqlite::Result<T>, tx: &ReadTx<'_>) -> Result<Option<T>> {
    match found {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_damage(&error) => Ok(None),
        Err(error) => Err(error).at(tx.path()),
    }
}

fn zeroes(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
