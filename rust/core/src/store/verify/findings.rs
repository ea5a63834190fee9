//! What a verification says.
use std::collections::BTreeMap;

use crate::store::rows::Seq;

/// Problems that are listed; the rest is counted.
const MOST_LISTED: usize = 1_000;

/// What kind of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A checksum does not match, or bytes cannot be decoded.
    Checksum,
    /// SQLite cannot read it, or its tables and indexes do not agree.
    Structure,
    /// A row that another one needs is not there.
    Missing,
    /// There are two where one may be.
    Duplicate,
    /// The links of a chain do not agree.
    Chain,
    /// A stored count is not what there is.
    Count,
    /// A number that was given out too late or twice, or is out of its range.
    Number,
    /// Bytes that belong to nothing were not overwritten.
    NotErased,
}

impl Fault {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Structure => "structure",
            Self::Missing => "missing",
            Self::Duplicate => "duplicate",
            Self::Chain => "chain",
            Self::Count => "count",
            Self::Number => "number",
            Self::NotErased => "not erased",
        }
    }
}

/// One thing that is wrong. Names a memory by its id, never its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: Fault,
    pub table: &'static str,
    /// The row's number in its table; `None`: the table as a whole.
    pub row: Option<i64>,
    pub id: Option<String>,
    pub what: String,
}

/// What a verification read and found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows read by table.
    pub checked: BTreeMap<&'static str, u64>,
    /// The first thousand.
    pub problems: Vec<Problem>,
    /// Problems that are not listed.
    pub more: u64,
}

impl Report {
    /// Of a file whose snapshot cannot even be begun.
    pub(in crate::store) fn unreadable(what: String) -> Self {
        let mut report = Self::default();
        report.add(Problem { kind: Fault::Structure, table: "meta", row: None, id: None, what });
        report
    }

    #[must_use]
    pub fn ok(&self) -> bool {
        self.problems.is_empty()
    }

    pub(in crate::store) fn count(&mut self, table: &'static str) {
        *self.checked.entry(table).or_default() += 1;
    }

    pub(in crate::store) fn add(&mut self, problem: Problem) {
        if self.problems.len() < MOST_LISTED {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }
}

/// A row of one of the tables, to be complained about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub table: &'static str,
    pub row: Option<i64>,
    /// The memory that it belongs to.
    pub seq: Option<Seq>,
}

pub(super) fn row(table: &'static str, row: i64) -> Place {
    Place { table, row: Some(row), seq: None }
}

/// A row that belongs to a memory.
pub(super) fn row_of(table: &'static str, row: i64, seq: Seq) -> Place {
    Place { table, row: Some(row), seq: Some(seq) }
}

pub(super) fn whole(table: &'static str) -> Place {
    Place { table, row: None, seq: None }
}
