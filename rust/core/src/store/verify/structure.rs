//! The file as SQLite sees it, the tables themselves, and the models.
use super::findings::{row, whole};
use super::{Fault, Verifier, readable};
use crate::error::{Error, Result};
use crate::store::calibration;
use crate::store::codec;
use crate::store::fault::At;
use crate::store::models::model_seed;
use crate::store::schema;
use crate::store::walk::{Table, is_damage};

const MODEL: Table = Table { name: "model", key: "id", columns: "name, dimension, probe, current, incoming" };
const CALIBRATION: Table = Table { name: "calibration", key: "model", columns: "data" };

const PARTIAL_INDEXES: [(&str, &str); 3] = [
    ("memory_key", "key IS NOT NULL AND superseded_by IS NULL"),
    ("memory_successor", "superseded_by IS NOT NULL"),
    ("memory_expires", "expires IS NOT NULL"),
];

impl Verifier<'_, '_> {
    /// The one row of `origin` and `meta` was read and checked when the snapshot began.
    pub(super) fn structure(&self) -> Result<()> {
        for table in ["origin", "meta"] {
            let count = self.number(&format!("SELECT count(*) FROM {table}"), [])?;
            self.report.borrow_mut().checked.insert(table, 1);
            self.expect(count == Some(1), Fault::Duplicate, whole(table), "does not have exactly one row");
        }
        let found = Self::known(schema::definitions_in(&self.tx.conn.sql).at(self.tx.path()))?;
        let expected = schema::definitions().at(self.tx.path())?;
        if found.as_ref() != Some(&expected) {
            self.add(Fault::Structure, whole("sqlite_schema"), "the tables and indexes are not those of this schema");
        }
        self.sqlite_check()?;
        self.partial_indexes()
    }

    /// SQLite finds each row in each index, but counts the entries of those only that have all rows.
    fn partial_indexes(&self) -> Result<()> {
        for (index, condition) in PARTIAL_INDEXES {
            let of = |by: &str| self.number(&format!("SELECT count(*) FROM memory {by} WHERE {condition}"), []);
            let entries = of(&format!("INDEXED BY {index}"))?;
            let rows = of("NOT INDEXED")?;
            let same = entries == rows && entries.is_some();
            self.expect(same, Fault::Structure, whole("memory"), &format!("wrong # of entries in index {index}"));
        }
        Ok(())
    }

    /// SQLite compares tables with their indexes here. Its lines name pages, tables and row numbers, never a value.
    fn sqlite_check(&self) -> Result<()> {
        let path = self.tx.path();
        let mut statement = self.tx.conn.sql.prepare("PRAGMA integrity_check(1000)").at(path)?;
        let mut rows = statement.query([]).at(path)?;
        loop {
            let line: String = match rows.next().and_then(|row| row.map(|row| row.get(0)).transpose()) {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(()),
                Err(error) if is_damage(&error) => {
                    self.add(Fault::Structure, whole("sqlite_schema"), format!("SQLite's own check failed ({error})"));
                    return Ok(());
                }
                Err(error) => return Err(error).at(path),
            };
            if (self.stop)() {
                return Err(Error::Interrupted);
            }
            for line in line.lines().filter(|line| *line != "ok") {
                self.add(Fault::Structure, whole("sqlite_schema"), line);
            }
        }
    }

    pub(super) fn models(&self) -> Result<()> {
        let (mut current, mut incoming) = (Vec::new(), Vec::new());
        self.each(MODEL, &mut |id, found| {
            let numbers = || {
                let (name, dimension): (String, u32) = (found.get(1)?, found.get(2)?);
                let probe = codec::decode_floats(found.get_ref(3)?.as_blob()?, model_seed(&name, dimension));
                let places: (i64, i64) = (found.get(4)?, found.get(5)?);
                Ok(probe.map(|probe| (probe.len(), dimension, places)))
            };
            let Some(Some((probe, dimension, places))) = readable(numbers(), self.tx)? else { return Ok(None) };
            let fits = probe == 0 || probe == dimension as usize;
            self.expect(fits, Fault::Number, row("model", id), "its probe is not of its dimension");
            current.extend((places.0 != 0).then_some(places.0));
            incoming.extend((places.1 != 0).then_some(places.1));
            Ok(Some(()))
        })?;
        for mut places in [current, incoming] {
            places.sort_unstable();
            let dense = (1_i64..).zip(&places).all(|(expected, place)| expected == *place);
            self.expect(dense, Fault::Number, whole("model"), "the places of the models are not 1, 2 and so on");
        }
        self.calibrations()
    }

    fn calibrations(&self) -> Result<()> {
        let mut count = 0;
        self.each(CALIBRATION, &mut |model, found| {
            count += 1;
            let select = "SELECT name, dimension FROM model WHERE id = ?1";
            let of = self.tx.conn.sql.query_row(select, [model], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
            let Ok((name, dimension)) = of else {
                self.add(Fault::Missing, row("calibration", model), "it is of a model that is not there");
                return Ok(Some(()));
            };
            let data = readable(found.get_ref(1).and_then(|data| Ok(data.as_blob()?)), self.tx)?;
            Ok(data.filter(|data| calibration::is_whole(data, model, &name, dimension)).map(drop))
        })?;
        self.expect(count <= 1, Fault::Duplicate, whole("calibration"), "more than one row");
        Ok(())
    }
}
