//! A copy of the collection as it is at one moment, while others write.
//!
//! SQLite's online backup, on a connection whose read transaction is held over all its steps: the snapshot stays, so that no other
//! writer makes it begin anew, and it can be stopped between two steps. What was erased is zeroes in every page that is copied.
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::aside::Stop;
use super::fault::{self, At};
use super::open_files::{COMPANIONS, with_suffix};
use super::outfile::Outfile;
use super::patience::Interrupt;
use super::read::ReadTx;
use super::reads::Length;
use super::schema::{Identity, Meta, identify};
use super::shared::Shared;
use crate::error::{Error, Result};

/// Pages that are copied between two looks at whether to stop.
const PAGES: i32 = 1_024;

impl Shared {
    pub(super) fn backup(&self, target: &Path, stop: &Stop) -> Result<u64> {
        let stopped = || stop.wanted();
        let interrupt: Interrupt<'_> = &stopped;
        self.read(Length::Long, interrupt, |tx| {
            self.refuse_own(target)?;
            expect_replaceable(target, tx.conn.epoch)?;
            let mut out = Outfile::beside(target)?;
            out.let_go();
            copy(tx, out.part(), stop)?;
            // It may have been opened meanwhile.
            expect_replaceable(target, tx.conn.epoch)?;
            let bytes = out.part().metadata().map_or(0, |found| found.len());
            out.keep()?;
            Ok(bytes)
        })
    }

    /// Nothing is written over the collection itself, nor over what SQLite keeps beside it.
    pub(super) fn refuse_own(&self, target: &Path) -> Result<()> {
        if self.is_in_memory() {
            return Ok(());
        }
        let own = std::iter::once(self.path.clone()).chain(COMPANIONS.map(|suffix| with_suffix(&self.path, suffix)));
        for own in own {
            if is_same(&own, target) {
                return Err(Error::invalid(format!(
                    "{} is the collection's own file, and it is open; name another one",
                    target.display()
                )));
            }
        }
        Ok(())
    }
}

/// By name, and by what the names lead to.
fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().ok();
    let absolute = |path: &Path| std::path::absolute(path).ok();
    if absolute(one) == absolute(other) || resolved(one).is_some_and(|one| resolved(other) == Some(one)) {
        return true;
    }
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
        use std::os::unix::fs::MetadataExt;
        return one.ino() == other.ino() && one.dev() == other.dev();
    }
    false
}

/// Only an older backup of the same collection is replaced, and only one that nobody has open: a log beside it would be taken for the
/// new file's.
fn expect_replaceable(target: &Path, epoch: i64) -> Result<()> {
    for suffix in COMPANIONS {
        let companion = with_suffix(target, suffix);
        if companion.symlink_metadata().is_ok() {
            return Err(Error::invalid(format!(
                "{} is there: {} is a database that is open somewhere or was not closed; name another file",
                companion.display(),
                target.display()
            )));
        }
    }
    match target.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(super::outfile::os_error(target, &error)),
        Ok(found) if found.is_dir() => return Err(fault::io(target, libc::EISDIR)),
        Ok(_) => {}
    }
    if epoch_of(target) == Some(epoch) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{} exists and is not a backup of this collection; name a file that does not exist, or delete it first",
        target.display()
    )))
}

/// Of a collection that nobody has open; `None`: it is not one. Only SQLite opens it: this process may have it open after all.
fn epoch_of(path: &Path) -> Option<i64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let uri = super::sqlite::uri(path, super::sqlite::Access::Immutable).ok()?;
    let sql = Connection::open_with_flags(uri, flags).ok()?;
    match identify(&sql, path) {
        Ok(Identity::Ours) => Meta::load(&sql, path).ok().map(|meta| meta.epoch),
        _ => None,
    }
}

fn copy(tx: &ReadTx<'_>, part: &Path, stop: &Stop) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut copy = Connection::open_with_flags(part, flags).at(part)?;
    // It is synced as a whole, when it is complete; a part of it is of no use to anybody.
    copy.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;").at(part)?;
    {
        let backup = Backup::new(tx.sql(), &mut copy).at(part)?;
        loop {
            if stop.wanted() {
                return Err(Error::Interrupted);
            }
            match backup.step(PAGES).at(part)? {
                StepResult::Done => break,
                StepResult::More => {}
                _ => return Err(fault::busy(tx.path())),
            }
        }
    }
    copy.close().map_err(|(_, error)| fault::from_sqlite(part, &error))
}
