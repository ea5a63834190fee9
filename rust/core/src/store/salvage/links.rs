//! What is left of chains, once it is known which memories are: closed over those that are lost, as forgetting closes them.
use std::collections::HashMap;

use super::Salvage;
use crate::error::Result;
use crate::store::fault::At;
use crate::store::rows::Seq;
use crate::store::verify::Fault;

impl Salvage<'_> {
    /// Memories whose content was not found at all.
    pub(super) fn drop_without_content(&mut self) {
        let lost: Vec<Seq> =
            self.memories.iter().filter(|(_, saved)| saved.id.is_none()).map(|(seq, _)| *seq).collect();
        for seq in lost {
            self.lose_entry(seq);
            self.lose(Fault::Missing, "content", seq, None, "the content cannot be read; the memory is lost");
        }
    }

    pub(super) fn count_feedback(&mut self) {
        let mut short = Vec::new();
        for (seq, saved) in &mut self.memories {
            let missing = saved.entry.feedbacks - saved.feedbacks;
            saved.entry.feedbacks = saved.feedbacks;
            if missing > 0 {
                short.push((*seq, saved.id.clone(), missing));
            }
        }
        for (seq, id, missing) in short {
            self.lose(Fault::Count, "memory", seq, id, format!("{missing} of its feedback are lost"));
        }
    }

    pub(super) fn close_chains(&mut self) {
        let successors: HashMap<Seq, Option<Seq>> = self
            .memories
            .iter()
            .map(|(seq, saved)| (*seq, self.successor(*seq, saved.entry.head.superseded_by)))
            .collect();
        let mut superseded: HashMap<Seq, Vec<Seq>> = HashMap::new();
        for (seq, saved) in &mut self.memories {
            let head = &mut saved.entry.head;
            head.superseded_by = successors.get(seq).copied().flatten();
            if let Some(newer) = head.superseded_by.filter(|newer| *newer != 0) {
                superseded.entry(newer).or_default().push(*seq);
            }
        }
        for (seq, saved) in &mut self.memories {
            let older = superseded.get(seq).map(Vec::as_slice).unwrap_or_default();
            let head = &mut saved.entry.head;
            head.supersedes = head.supersedes.filter(|named| older.contains(named)).or(older.first().copied());
        }
    }

    /// The next in the chain that was saved; 0 where none was.
    fn successor(&self, seq: Seq, named: Option<Seq>) -> Option<Seq> {
        let mut next = named?;
        let mut last = seq;
        while next > last {
            if self.memories.contains_key(&next) {
                return Some(next);
            }
            last = next;
            next = self.lost_successors.get(&next).copied().unwrap_or(0);
        }
        Some(0)
    }

    pub(super) fn save_memories(&mut self) -> Result<()> {
        for saved in self.memories.values() {
            saved.entry.insert(self.new).at(self.into)?;
            self.report.count("memory");
        }
        for (seq, place) in &self.incoming {
            if !self.memories.contains_key(seq) {
                continue;
            }
            self.new
                .prepare_cached("INSERT INTO incoming VALUES (?1, ?2, ?3, ?4)")
                .and_then(|mut insert| insert.execute((*seq, place.vid, place.parts, place.sum(*seq))))
                .at(self.into)?;
            self.report.count("incoming");
        }
        Ok(())
    }
}
