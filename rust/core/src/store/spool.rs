//! What waits to be stored in one transaction. It lies beside the collection in a file without a name, which nobody else can open and
//! which is gone with the process; of a collection in memory, in memory.
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::outfile::{BUFFER, create_unnamed, os_error};
use super::staged::Staged;
use crate::error::{Error, Result};

const LENGTH: usize = 8;

/// Records in the order in which they came.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    records: Records,
    count: u64,
}

#[derive(Debug)]
enum Records {
    OnDisk(BufWriter<File>),
    InMemory(Vec<Vec<u8>>),
}

impl Spool {
    pub(super) fn beside(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { path: PathBuf::from(":memory:"), records: Records::InMemory(Vec::new()), count: 0 });
        };
        let file = BufWriter::with_capacity(BUFFER, create_unnamed(path, "import")?);
        Ok(Self { path: path.to_path_buf(), records: Records::OnDisk(file), count: 0 })
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn push(&mut self, staged: &Staged) -> Result<()> {
        let record = staged.encode();
        self.count += 1;
        match &mut self.records {
            Records::InMemory(records) => {
                records.push(record);
                Ok(())
            }
            Records::OnDisk(file) => {
                let length = (record.len() as u64).to_le_bytes();
                let written = file.write_all(&length).and_then(|()| file.write_all(&record));
                written.map_err(|error| os_error(&self.path, &error))
            }
        }
    }

    /// Reads all of them, one at a time.
    pub fn each(&mut self, job: &mut dyn FnMut(Staged) -> Result<()>) -> Result<()> {
        let Self { path, records, count } = self;
        let damaged = || Error::corrupt(path, "what was staged for an import has been changed on the disk");
        match records {
            Records::InMemory(records) => {
                records.iter().try_for_each(|record| job(Staged::decode(record).ok_or_else(damaged)?))
            }
            Records::OnDisk(writer) => {
                writer.flush().map_err(|error| os_error(path, &error))?;
                let mut file = writer.get_ref();
                file.rewind().map_err(|error| os_error(path, &error))?;
                let mut file = BufReader::with_capacity(BUFFER, file);
                let mut record = Vec::new();
                for _ in 0..*count {
                    let mut length = [0; LENGTH];
                    file.read_exact(&mut length).map_err(|error| os_error(path, &error))?;
                    let length = u64::from_le_bytes(length);
                    record.clear();
                    (&mut file).take(length).read_to_end(&mut record).map_err(|error| os_error(path, &error))?;
                    job(Staged::decode(&record).ok_or_else(damaged)?)?;
                }
                Ok(())
            }
        }
    }
}
