//! `export`: what lives, of one moment, as JSON Lines; `docs/format.md` describes them. One memory is in memory at a time.
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::Engine;
use super::line::{Object, base64};
use super::remember::is_live;
use crate::calendar::iso;
use crate::error::{Error, Result};
use crate::model::{Judge, MOST_MODELS, Vector};
use crate::store::{Interrupt, Micros, Model, Outfile, ReadTx, Row, Scan, Successor, Unnamed, Unused};

/// Of the lines that are written, and the newest that can be read.
pub const EXPORT_VERSION: i64 = 1;
/// What the first line says that the file is.
pub const EXPORT_FORMAT: &str = "retentive-export";

/// Memories that are read in one go.
const BATCH: usize = 16;

/// What is to be written where.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    pub path: PathBuf,
    /// The vectors too.
    pub vectors: bool,
    pub now: Micros,
}

/// How far a long call is; another thread may look.
#[derive(Debug, Default)]
pub struct Progress {
    pub done: AtomicU64,
    pub total: AtomicU64,
}

impl Engine {
    /// Writes all that has not expired into a new file, in the order in which it was stored; how many memories those are. A file that
    /// is there is replaced when the new one is complete.
    pub fn export(&self, request: &ExportRequest, progress: &Progress, interrupt: Interrupt) -> Result<u64> {
        let _inside = crate::gate::enter();
        self.store.refuse_own(&request.path)?;
        self.store.read_aside(interrupt, |tx, stopped| {
            let mut out = Outfile::beside(&request.path)?;
            let total = self.write_lines(tx, request, progress, &mut |line| out.write(line), stopped)?;
            out.keep()?;
            Ok(total)
        })
    }

    /// Writes all of it into a file that nobody else can open, in the folder of the request's path, to be read from its start.
    pub fn export_unnamed(
        &self,
        request: &ExportRequest,
        progress: &Progress,
        interrupt: Interrupt,
    ) -> Result<(u64, File)> {
        let _inside = crate::gate::enter();
        self.store.read_aside(interrupt, |tx, stopped| {
            let mut out = Unnamed::beside(&request.path)?;
            let total = self.write_lines(tx, request, progress, &mut |line| out.write(line), stopped)?;
            Ok((total, out.rewound()?))
        })
    }

    fn write_lines(
        &self,
        tx: &ReadTx,
        request: &ExportRequest,
        progress: &Progress,
        out: Write,
        stopped: Interrupt,
    ) -> Result<u64> {
        let language = self.store.facts().language;
        let total = live_count(tx, request.now)?;
        progress.total.store(total, Ordering::Relaxed);
        let models = if total > 0 { tx.models()? } else { Vec::new() };
        let header = Header { name: &self.name, language: &language, memories: total, models: &models };
        out(&header.line(tx, request.vectors)?)?;
        write_memories(tx, request, models.len(), progress, out, stopped)?;
        for unused in tx.unused_turns(request.now)? {
            out(&unused_line(&unused)?)?;
        }
        Ok(total)
    }
}

type Write<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

fn live_count(tx: &ReadTx, now: Micros) -> Result<u64> {
    let mut count = 0;
    tx.heads(Scan::All, &mut |head| {
        count += u64::from(is_live(head.expires, now));
        Ok(())
    })?;
    Ok(count)
}

fn write_memories(
    tx: &ReadTx,
    request: &ExportRequest,
    models: usize,
    progress: &Progress,
    out: Write,
    stopped: Interrupt,
) -> Result<()> {
    let mut after = 0;
    let mut line = Vec::new();
    loop {
        let seqs = tx.seqs_after(after, BATCH)?;
        let Some(last) = seqs.last() else { return Ok(()) };
        after = *last;
        for (row, vectors) in tx.rows_with_vectors(&seqs)? {
            if stopped() {
                return Err(Error::Interrupted);
            }
            if !is_live(row.head.expires, request.now) {
                continue;
            }
            line.clear();
            let vectors = request.vectors.then_some(vectors.as_slice());
            memory_line(&mut line, tx, &row, vectors, models, request.now)?;
            out(&line)?;
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Header<'a> {
    name: &'a str,
    language: &'a str,
    memories: u64,
    models: &'a [Model],
}

impl Header<'_> {
    fn line(&self, tx: &ReadTx, vectors: bool) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let mut object = Object::new(&mut line);
        object.text("format", EXPORT_FORMAT)?;
        object.raw("version", &EXPORT_VERSION.to_string());
        object.text("collection", self.name)?;
        object.text("language", self.language)?;
        object.raw("memories", &self.memories.to_string());
        let models = self.models.iter().map(model_object).collect::<Result<Vec<_>>>()?;
        object.raw("models", &format!("[{}]", models.join(",")));
        object.raw("vectors", if vectors { "true" } else { "false" });
        if let Some(calibration) = tx.calibration()?.filter(|_| self.memories > 0) {
            let floor = |floor: Option<f64>| Value::from(floor).to_string();
            object.raw(
                "calibration",
                &format!(
                    "{{\"noise_floor\":{},\"refusal_floor\":{},\"report\":{}}}",
                    floor(calibration.floors.noise),
                    floor(calibration.floors.refusal),
                    calibration.report
                ),
            );
        }
        object.end();
        Ok(line)
    }
}

fn model_object(model: &Model) -> Result<String> {
    let mut object = Vec::new();
    let mut fields = Object::new(&mut object);
    fields.text("name", &model.name)?;
    fields.raw("dimension", &model.dimension.to_string());
    fields.text("probe", &base64(&model.probe))?;
    fields.close();
    String::from_utf8(object).map_err(|error| Error::invalid(error.to_string()))
}

fn memory_line(
    line: &mut Vec<u8>,
    tx: &ReadTx,
    row: &Row,
    vectors: Option<&[Vector]>,
    models: usize,
    now: Micros,
) -> Result<()> {
    let mut object = Object::new(line);
    object.text("id", &row.id)?;
    object.text("kind", row.head.kind.as_str())?;
    object.optional("user", row.user.as_deref())?;
    object.optional("session", row.session.as_deref())?;
    object.optional("role", row.role.as_deref())?;
    object.optional("name", row.name.as_deref())?;
    object.optional("key", row.key.as_deref())?;
    if let Some(turn) = row.head.turn {
        object.raw("turn", &turn.to_string());
    }
    object.text("text", &row.text)?;
    object.text("ts", &iso(row.head.ts))?;
    object.optional("expires", row.head.expires.map(iso).as_deref())?;
    links(&mut object, tx, row, now)?;
    if row.head.judge != Judge::None {
        object.text("judge", if row.head.judge == Judge::Ok { "ok" } else { "failed" })?;
    }
    if row.head.cited {
        object.raw("cited", "true");
    }
    if !row.consolidated_from.is_empty() {
        object.raw("consolidated_from", &Value::from(row.consolidated_from.clone()).to_string());
    }
    if !row.feedback.is_empty() {
        let given = row.feedback.iter().map(|(outcome, ts)| super::record::feedback(outcome.as_str(), *ts));
        object.raw("feedback", &given.collect::<Value>().to_string());
    }
    if let Some(metadata) = &row.metadata {
        object.raw("metadata", metadata);
    }
    if let Some(vectors) = vectors.filter(|vectors| !vectors.is_empty()) {
        let of_slot =
            |slot| vectors.iter().filter(move |vector| vector.slot == slot).map(|vector| base64(&vector.values));
        let each: Vec<Vec<String>> = (0..models.min(MOST_MODELS)).map(|slot| of_slot(slot).collect()).collect();
        object.raw("vectors", &Value::from(each).to_string());
    }
    object.end();
    Ok(())
}

fn links(object: &mut Object, tx: &ReadTx, row: &Row, now: Micros) -> Result<()> {
    let id = |seq| Ok::<_, Error>(tx.rows(&[seq])?.into_iter().next().map(|row| row.id));
    if let Some(older) = tx.live_predecessor(&row.head, now)? {
        object.optional("supersedes", id(older)?.as_deref())?;
    }
    match tx.live_successor(&row.head, now)? {
        Successor::Never => return Ok(()),
        Successor::Gone => object.raw("superseded_by", "null"),
        Successor::Memory(newer) => object.optional("superseded_by", id(newer)?.as_deref())?,
    }
    object.text("superseded_at", &iso(row.head.superseded_at.unwrap_or(row.head.ts)))
}

fn unused_line(unused: &Unused) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut object = Object::new(&mut line);
    object.raw("next_turn", &unused.next_turn.to_string());
    object.optional("user", unused.user.as_deref())?;
    object.optional("session", unused.session.as_deref())?;
    object.end();
    Ok(line)
}
