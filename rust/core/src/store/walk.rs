//! Every row of a table, also past pages that SQLite cannot read.
use rusqlite::{CachedStatement, Connection, ErrorCode, Row, ffi};

use super::fault::is_absurd;

/// After so many keys tried one by one behind an unreadable page, the steps grow.
const ONE_BY_ONE: i64 = 4_096;

/// A table whose key is its row number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    pub name: &'static str,
    pub key: &'static str,
    /// What is read of each row, behind the key; the table goes by `m`.
    pub columns: &'static str,
}

pub(super) enum Visit<'a> {
    /// Its key is column 0.
    Row(i64, &'a Row<'a>),
    /// What is between these keys, both included, cannot be read.
    Gap(i64, i64),
}

/// The file says something that cannot be: another row may be right.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as Sql;
    let damaged = |failure: ffi::Error| {
        matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure)
            || is_absurd(failure)
    };
    match error {
        Sql::SqliteFailure(failure, _) => damaged(*failure),
        Sql::SqlInputError { error, .. } => damaged(*error),
        Sql::InvalidColumnType(..)
        | Sql::FromSqlConversionFailure(..)
        | Sql::IntegralValueOutOfRange(..)
        | Sql::Utf8Error(..) => true,
        _ => false,
    }
}

/// Visits the rows in the order of their keys, which rise. What cannot be read is told as a gap; the walk goes on behind it.
pub(super) fn walk<E: From<rusqlite::Error>>(
    sql: &Connection,
    table: Table,
    each: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let Table { name, key, columns } = table;
    let mut rest =
        sql.prepare_cached(&format!("SELECT {key}, {columns} FROM {name} m WHERE {key} >= ?1 ORDER BY {key}"))?;
    let mut first =
        sql.prepare_cached(&format!("SELECT {key}, {columns} FROM {name} m WHERE {key} >= ?1 ORDER BY {key} LIMIT 1"))?;
    let mut next = Some(i64::MIN);
    let mut visited = Vec::new();
    while let Some(from) = next {
        next = None;
        if let Some(unread) = scan(&mut rest, from, &mut visited, each)? {
            next = resume(&mut first, unread)?;
            each(Visit::Gap(unread, next.map_or(i64::MAX, |key| key - 1)))?;
        }
    }
    Ok(())
}

/// Visits rows from `from` on. The first key that was not visited, where one cannot be read.
fn scan<E: From<rusqlite::Error>>(
    rest: &mut CachedStatement<'_>,
    from: i64,
    visited: &mut Vec<i64>,
    each: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<Option<i64>, E> {
    let mut rows = rest.query([from])?;
    let mut next = from;
    // A page or a row that is linked twice is met again in the place of another one, which may be lost.
    let mut again = false;
    loop {
        match rows.next() {
            Ok(None) if again => return Ok(Some(next)),
            Ok(None) => return Ok(None),
            Ok(Some(row)) => {
                let key: i64 = row.get(0)?;
                if key < next {
                    again = true;
                    if visited.binary_search(&key).is_err() {
                        each(Visit::Gap(key, key))?; // behind rows that should come later: no look-up finds it
                    }
                    continue;
                }
                if again && key > next {
                    each(Visit::Gap(next, key - 1))?;
                }
                again = false;
                visited.push(key);
                each(Visit::Row(key, row))?;
                next = key.saturating_add(1);
            }
            Err(error) if is_damage(&error) => return Ok(Some(next.max(0))),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The first key behind what is unreadable at `unread`. `None`: there is no further row.
fn resume(first: &mut CachedStatement<'_>, unread: i64) -> rusqlite::Result<Option<i64>> {
    let mut below = unread;
    let mut step = 1;
    loop {
        let Some(key) = below.checked_add(step) else { return Ok(None) };
        match readable(first, key)? {
            Tried::Unreadable => below = key,
            Tried::End if step == 1 => return Ok(None),
            Tried::Row(found) if step == 1 => return Ok(Some(found)),
            Tried::End | Tried::Row(_) => return narrow(first, below, key),
        }
        if below - unread >= ONE_BY_ONE {
            step = step.saturating_mul(2);
        }
    }
}

/// `below` is unreadable, `above` is not: the border between them.
fn narrow(first: &mut CachedStatement<'_>, mut below: i64, mut above: i64) -> rusqlite::Result<Option<i64>> {
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if matches!(readable(first, middle)?, Tried::Unreadable) {
            below = middle;
        } else {
            above = middle;
        }
    }
    Ok(match readable(first, above)? {
        Tried::Row(key) => Some(key),
        Tried::End | Tried::Unreadable => None,
    })
}

enum Tried {
    Row(i64),
    End,
    Unreadable,
}

fn readable(first: &mut CachedStatement<'_>, key: i64) -> rusqlite::Result<Tried> {
    let mut rows = first.query([key])?;
    match rows.next() {
        Ok(Some(row)) => Ok(Tried::Row(row.get::<_, i64>(0)?.max(key))),
        Ok(None) => Ok(Tried::End),
        Err(error) if is_damage(&error) => Ok(Tried::Unreadable),
        Err(error) => Err(error),
    }
}
