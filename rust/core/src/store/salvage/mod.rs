//! A damaged file's rows, one by one, into a new file: whatever matches its checksum and still has a place. Works on a copy of the
//! damaged file, and looks nothing up by an index of it.
mod contents;
mod links;
mod places;
mod source;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use contents::SavedModel;

use super::aside::Stop;
use super::entry::{Entry, columns};
use super::fault::{self, At};
use super::group::run;
use super::incoming;
use super::outfile::Outfile;
use super::patience::Interrupt;
use super::rows::Seq;
use super::schema::{self, Meta, Origin};
use super::sqlite::{Access, Durability, connect};
use super::verify::{Fault, Problem, Report};
use super::walk::{self, Table, Visit, is_damage};
use crate::error::{Error, Result};
use crate::gate;

const MEMORY: Table = Table { name: "memory", key: "seq", columns: columns!() };

/// What is salvaged, and how.
#[derive(Debug, Clone)]
pub struct SalvageOptions {
    /// A copy of the damaged file, with a copy of its log beside it: both may be changed.
    pub copy: PathBuf,
    /// Does not exist.
    pub into: PathBuf,
    /// Of the analysis, where the file does not say it any more.
    pub language: String,
    pub entropy: [u8; 32],
}

/// Saves what can be read into a new file. The report's counts are rows saved, its problems are what was lost.
pub fn salvage(options: &SalvageOptions, interrupt: Interrupt<'_>) -> Result<Report> {
    let _inside = gate::enter();
    super::aside::aside(interrupt, |stop| {
        let old = source::open(&options.copy)?;
        if options.into.exists() {
            return Err(fault::io(&options.into, libc::EEXIST));
        }
        let mut out = Outfile::beside(&options.into)?;
        out.let_go();
        let saved = fill(out.part(), &old, options, stop);
        match saved {
            // Somebody else's by now.
            Ok(_) if options.into.exists() => Err(fault::io(&options.into, libc::EEXIST)),
            Ok(report) => out.keep().map(|()| report),
            Err(error) => {
                remove_companions(out.part());
                Err(error)
            }
        }
    })
}

/// Makes the collection in `part`, which is empty. No log holds its texts meanwhile: of a killed process nothing but the part is left.
fn fill(part: &Path, old: &Connection, options: &SalvageOptions, stop: &Stop) -> Result<Report> {
    let into = &options.into;
    let new = connect(part, Access::Create, Durability::Full)?;
    new.execute_batch("PRAGMA journal_mode=MEMORY").at(into)?;
    run(&new, "BEGIN IMMEDIATE").at(into)?;
    schema::create_tables(&new).at(into)?;
    let report = Salvage::new(options, old, &new, &|| stop.wanted())?.run()?;
    run(&new, "COMMIT").at(into)?;
    schema::ensure_wal(&new, into)?;
    Ok(report)
}

/// What SQLite may have put beside it.
fn remove_companions(part: &Path) {
    for end in ["-wal", "-shm", "-journal"] {
        let mut name = part.as_os_str().to_owned();
        name.push(end);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}

/// A memory on its way.
struct Saved {
    entry: Entry,
    /// `None` until its content was found whole.
    id: Option<String>,
    /// Vectors found whole: the current ones, and those of a move.
    vectors: [i64; 2],
    feedbacks: i64,
}

struct Salvage<'a> {
    old: &'a Connection,
    new: &'a Connection,
    path: &'a Path,
    into: &'a Path,
    stop: &'a dyn Fn() -> bool,
    entropy: [u8; 32],
    origin: Origin,
    /// The key of the hashes is lost: they are made anew.
    origin_is_new: bool,
    meta: Option<Meta>,
    memories: BTreeMap<Seq, Saved>,
    /// The successors of memories that were lost, for the chains that they were in.
    lost_successors: HashMap<Seq, i64>,
    /// Some of the rows of `memory` cannot be read: contents without one may be theirs.
    memory_damaged: bool,
    incoming: BTreeMap<Seq, incoming::Place>,
    /// The models that were saved, by id.
    models: BTreeMap<i64, SavedModel>,
    report: Report,
}

/// An error of a walk.
enum Ended {
    Sql(rusqlite::Error),
    Core(Error),
}

impl From<rusqlite::Error> for Ended {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl<'a> Salvage<'a> {
    fn new(
        options: &'a SalvageOptions,
        old: &'a Connection,
        new: &'a Connection,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Self> {
        let mut report = Report::default();
        let mut lost = |table, what: &str| {
            report.add(Problem { kind: Fault::Checksum, table, row: Some(1), id: None, what: what.to_owned() });
        };
        let origin = known(Origin::load(old, &options.copy))?;
        let meta = known(Meta::load(old, &options.copy))?;
        if origin.is_none() {
            lost("origin", &format!("its language is lost and taken to be {:?}", options.language));
        }
        if meta.is_none() {
            lost("meta", "its counters are lost: they go on behind the numbers that were found");
        }
        if origin.is_none() && meta.is_none() && !any_memory(old) {
            return Err(Error::corrupt(&options.copy, "nothing of a retentive collection can be read in it"));
        }
        Ok(Self {
            old,
            new,
            path: &options.copy,
            into: &options.into,
            stop,
            entropy: options.entropy,
            origin_is_new: origin.is_none(),
            origin: origin.unwrap_or_else(|| Origin::new(&options.entropy, &options.language)),
            meta,
            memories: BTreeMap::new(),
            lost_successors: HashMap::new(),
            memory_damaged: false,
            incoming: BTreeMap::new(),
            models: BTreeMap::new(),
            report,
        })
    }

    /// Entries first, since they say what belongs to whom; they are written last, when it is known what came along.
    fn run(mut self) -> Result<Report> {
        self.read_memories()?;
        self.save_contents()?;
        self.drop_without_content();
        self.save_models()?;
        self.save_vectors()?;
        self.save_feedback()?;
        self.count_feedback();
        self.close_chains();
        self.save_memories()?;
        self.save_scopes()?;
        self.save_counters()?;
        schema::create_indexes(self.new).at(self.into)?;
        Ok(self.report)
    }

    fn read_memories(&mut self) -> Result<()> {
        self.each(MEMORY, &mut |salvage, seq, row| {
            match Entry::read_at(row, 1) {
                Ok(Some(entry)) => {
                    salvage.memories.insert(seq, Saved { entry, id: None, vectors: [0, 0], feedbacks: 0 });
                }
                Ok(None) => salvage.memory_damaged = true,
                Err(error) if is_damage(&error) => salvage.memory_damaged = true,
                Err(error) => return Err(error).at(salvage.path),
            }
            Ok(())
        })
    }

    /// Visits every row that can be read, and reports what cannot.
    fn each(
        &mut self,
        table: Table,
        visit: &mut dyn FnMut(&mut Self, i64, &rusqlite::Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let (old, path) = (self.old, self.path);
        let walked = walk::walk::<Ended>(old, table, &mut |found| {
            if (self.stop)() {
                return Err(Ended::Core(Error::Interrupted));
            }
            match found {
                Visit::Row(key, row) => visit(self, key, row).map_err(Ended::Core),
                Visit::Gap(from, to) => {
                    let rest = if to == i64::MAX {
                        "and all behind it".to_owned()
                    } else {
                        format!("to {to}, as far as there are such,")
                    };
                    self.memory_damaged |= table.name == "memory";
                    self.lose(Fault::Structure, table.name, from, None, format!("row {from} {rest} cannot be read"));
                    Ok(())
                }
            }
        });
        match walked {
            Ok(()) => Ok(()),
            Err(Ended::Core(error)) => Err(error),
            Err(Ended::Sql(error)) if is_damage(&error) => {
                self.memory_damaged |= table.name == "memory";
                self.lose(Fault::Structure, table.name, 0, None, "the table cannot be read");
                Ok(())
            }
            Err(Ended::Sql(error)) => Err(error).at(path),
        }
    }

    fn lose(&mut self, kind: Fault, table: &'static str, row: i64, id: Option<String>, what: impl Into<String>) {
        self.report.add(Problem { kind, table, row: Some(row), id, what: what.into() });
    }
}

/// `None` where it is damaged.
fn known<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn any_memory(old: &Connection) -> bool {
    let mut any = false;
    let walked = walk::walk::<rusqlite::Error>(old, MEMORY, &mut |visit| {
        if let Visit::Row(_, row) = visit {
            any = any || matches!(Entry::read_at(row, 1), Ok(Some(_)));
        }
        Ok(())
    });
    walked.is_ok() && any
}
