//! What a read derived from one version of a partition, or of many, kept for the next read of it.
use std::any::Any;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

type Kept = Arc<dyn Any + Send + Sync>;

/// One value of whatever type the reader chose, with the scope that it was derived from; `None`: all of the partition. A copy of the
/// partition begins empty: it will be another version.
#[derive(Default)]
pub(crate) struct Memo(Mutex<Option<(Option<i64>, Kept)>>);

impl Memo {
    /// What was kept, if it is a `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.lock().as_ref().map(|(_, kept)| Arc::clone(kept))?.downcast().ok()
    }

    /// Keeps a value in the place of the last one. A partition's own must not hold the partition or a segment: those are changed in
    /// place where nobody else holds them.
    pub fn keep<T: Any + Send + Sync>(&self, scope: Option<i64>, value: &Arc<T>) {
        *self.0.lock() = Some((scope, Arc::clone(value) as Kept));
    }

    /// The partition has grown, but not in this scope: what was derived from another is out of date.
    pub fn keep_only(&mut self, scope: i64) {
        self.0.get_mut().take_if(|(of, _)| *of != Some(scope));
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
        memo.keep(None, &Arc::new(7_u32));
        assert_eq!(memo.get::<u32>().as_deref(), Some(&7));
        assert_eq!(memo.get::<String>(), None);
        assert_eq!(memo.clone().get::<u32>(), None);
    }

    #[test]
    fn what_another_scope_gave_goes_with_growth() {
        let mut memo = Memo::default();
        memo.keep(Some(3), &Arc::new(7_u32));
        memo.keep_only(3);
        assert_eq!(memo.get::<u32>().as_deref(), Some(&7));
        memo.keep_only(4);
        assert_eq!(memo.get::<u32>(), None);
        memo.keep(None, &Arc::new(7_u32));
        memo.keep_only(3);
        assert_eq!(memo.get::<u32>(), None);
    }
}
