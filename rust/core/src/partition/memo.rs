//! What a read derived from one version of a partition, or of many, kept for the next read of it.
use std::any::Any;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

type Kept = Arc<dyn Any + Send + Sync>;

/// One value of whatever type the reader chose. A copy of the partition begins empty: it will be another version.
#[derive(Default)]
pub(crate) struct Memo(Mutex<Option<Kept>>);

impl Memo {
    /// What was kept, if it is a `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.lock().clone()?.downcast().ok()
    }

    /// Keeps a value in the place of the last one. A partition's own must not hold the partition or a segment: those are changed in
    /// place where nobody else holds them.
    pub fn keep<T: Any + Send + Sync>(&self, value: &Arc<T>) {
        *self.0.lock() = Some(Arc::clone(value) as Kept);
    }

    pub fn clear(&self) {
        // Dropped behind the lock: it may hold much.
        let gone = self.0.lock().take();
        drop(gone);
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_begins_empty() {
        let memo = Memo::default();
        memo.keep(&Arc::new(7_u32));
        assert_eq!(memo.get::<u32>().as_deref(), Some(&7));
        assert_eq!(memo.get::<String>(), None);
        assert_eq!(memo.clone().get::<u32>(), None);
    }
}
