//! `stats`, `verify`, `compact` and `warmup`.
use std::path::Path;

use super::Engine;
use super::request::Stat;
use crate::error::Result;
use crate::model::Kind;
use crate::store::{Interrupt, Owners, Report};

impl Engine {
    /// Sizes and counts.
    pub fn stats(&self, interrupt: Interrupt) -> Result<Vec<(&'static str, Stat)>> {
        let (stats, models, incoming, progress, (with_vectors, total)) = self.read(interrupt, |tx| {
            Ok((tx.stats()?, tx.models()?, tx.incoming_models()?, tx.incoming_progress()?, tx.vectors_progress()?))
        })?;
        let without_vectors = total.saturating_sub(with_vectors);
        let facts = self.store.facts();
        let int = |value: u64| Stat::Int(i64::try_from(value).unwrap_or(i64::MAX));
        let text = |value: Option<String>| value.map_or(Stat::Missing, Stat::Text);
        let mut figures = vec![
            ("name", Stat::Text(self.name.clone())),
            ("path", text(facts.path.map(|path| path.display().to_string()))),
        ];
        for (kind, count) in Kind::ALL.into_iter().zip(stats.by_kind) {
            figures.push((plural(kind), int(count)));
        }
        figures.extend([
            ("count", int(stats.by_kind.iter().sum())),
            ("superseded", int(stats.superseded)),
            ("erased", int(stats.erased)),
            ("erasure_pending", Stat::Bool(facts.erasure_pending)),
            ("file_bytes", int(stats.page_size * stats.pages)),
            ("free_bytes", int(stats.page_size * stats.free_pages)),
            ("cached_partitions", int(self.cache.len() as u64)),
            ("cache_bytes", int(self.cache.bytes() as u64)),
            ("language", Stat::Text(facts.language)),
            ("readonly", Stat::Bool(facts.readonly)),
            ("reembed_pending", Stat::Bool(!incoming.is_empty() || without_vectors > 0)),
            ("reembedded", int(progress.0)),
            ("without_vectors", int(without_vectors)),
        ]);
        for (slot, names) in [("model", "dimension"), ("second_model", "second_dimension")].into_iter().enumerate() {
            let model = models.get(slot);
            figures.push((names.0, text(model.map(|model| model.name.clone()))));
            figures.push((names.1, model.map_or(Stat::Missing, |model| int(u64::from(model.dimension)))));
        }
        Ok(figures)
    }

    /// Reads everything and lists what is wrong with it.
    pub fn verify(&self, interrupt: Interrupt) -> Result<Report> {
        self.store.verify(interrupt)
    }

    /// Gives the space of what was erased back; bytes.
    pub fn compact(&self, interrupt: Interrupt) -> Result<u64> {
        self.store.compact(interrupt)
    }

    /// Copies the collection into a new file; see [`Store::backup`](crate::store::Store::backup). How many bytes it has.
    pub fn backup(&self, target: &Path, interrupt: Interrupt) -> Result<u64> {
        self.store.backup(target, interrupt)
    }

    /// Loads partitions ahead of the first read, until the cache is full.
    pub fn warmup(&self, interrupt: Interrupt) -> Result<()> {
        let partitions = self.read(interrupt, |tx| tx.partitions(Owners::Any))?;
        for scope in partitions {
            if self.cache.is_full() {
                break;
            }
            self.snapshot(interrupt, |view| Ok(view.partition(scope.id)?.map(|_| ())))?;
        }
        Ok(())
    }
}

fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Document => "documents",
        Kind::Turn => "turns",
        Kind::Fact => "facts",
        Kind::Pinned => "pinned",
    }
}
