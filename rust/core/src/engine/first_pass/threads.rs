//! The threads of the partitions that a first pass looks at, each found once.
use std::ops::Range;
use std::sync::Arc;

use super::super::columns::Conversation;
use super::super::gather::Gathered;

pub(super) struct Threads<'g> {
    gathered: &'g Gathered,
    gap_us: i64,
    /// The partitions of which something is in S, by the numbers of their parts.
    partitions: Vec<Range<usize>>,
    known: Vec<Option<Arc<Conversation>>>,
}

/// What is known of a partition of S.
#[derive(Clone, Copy)]
pub(super) struct Around<'t> {
    pub conversation: &'t Conversation,
    /// Index in S of its first row: the rows of the conversation count from there.
    pub base: u32,
}

impl<'g> Threads<'g> {
    /// A pause of more than `gap_us` begins a new sitting.
    pub fn of(gathered: &'g Gathered, gap_us: i64) -> Self {
        let partitions: Vec<Range<usize>> = gathered.partitions().filter(|parts| !parts.is_empty()).collect();
        Self { gathered, gap_us, known: vec![None; partitions.len()], partitions }
    }

    pub fn gap_us(&self) -> i64 {
        self.gap_us
    }

    pub fn partitions(&self) -> &[Range<usize>] {
        &self.partitions
    }

    /// The number of the partition that a part is of.
    pub fn number_of(&self, part: usize) -> usize {
        self.partitions.partition_point(|parts| parts.start <= part).saturating_sub(1)
    }

    /// The thread of a partition; `None` for a number that none has.
    pub fn get(&mut self, number: usize) -> Option<Around<'_>> {
        let first = self.partitions.get(number)?.start;
        let base = self.gathered.parts().get(first)?.base() as u32;
        let (gathered, gap_us) = (self.gathered, self.gap_us);
        let known = self.known.get_mut(number)?;
        let conversation = known.get_or_insert_with(|| gathered.conversation_around(first, gap_us));
        Some(Around { conversation, base })
    }
}
