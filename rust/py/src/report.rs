//! What a verification found, as plain values.
use std::collections::BTreeMap;

use retentive_core::store::Report;

/// Kind, table, row, id, what.
pub type Problem = (&'static str, &'static str, Option<i64>, Option<String>, String);

/// Rows checked by table, problems, and how many more there are.
pub type Found = (BTreeMap<&'static str, u64>, Vec<Problem>, u64);

pub fn found(report: Report) -> Found {
    let problems = report.problems.into_iter();
    let problems = problems.map(|found| (found.kind.as_str(), found.table, found.row, found.id, found.what)).collect();
    (report.checked, problems, report.more)
}
