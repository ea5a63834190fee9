//! A copy that is caught up equals one that is loaded anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use retentive_core::model::{Outcome, Vector};
use retentive_core::store::{Changes, IndexRow, NewMemory, Owners, Seq, Store};
use store_support::*;

/// What an index would hold of one partition.
#[derive(Debug, Default, PartialEq)]
struct Copy {
    rev: i64,
    rows: BTreeMap<Seq, IndexRow>,
}

impl Copy {
    fn catch_up(&mut self, store: &Store, partition: i64) {
        read(store, |tx| {
            let load = |since: i64| -> retentive_core::error::Result<(Changes, Vec<IndexRow>)> {
                let mut rows = Vec::new();
                let changes = tx.changes(partition, since, &mut |row| Ok(rows.push(row.clone())))?;
                Ok((changes, rows))
            };
            let (mut changes, mut rows) = load(self.rev)?;
            if changes.reload {
                assert!(rows.is_empty());
                self.rows.clear();
                (changes, rows) = load(0)?;
                assert!(!changes.reload);
            }
            assert!(rows.windows(2).all(|pair| pair[0].head.seq < pair[1].head.seq));
            for seq in changes.gone {
                self.rows.remove(&seq);
            }
            self.rows.extend(rows.into_iter().map(|row| (row.head.seq, row)));
            self.rev = changes.rev;
            Ok(())
        });
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert { scope: u8, many: u8 },
    Erase { from: prop::sample::Index, many: u8 },
    Supersede(prop::sample::Index, prop::sample::Index),
    Feedback(prop::sample::Index),
    Clear,
    Fail,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let any_one = any::<prop::sample::Index>;
    prop_oneof![
        6 => (0..4_u8, 1..6_u8).prop_map(|(scope, many)| Step::Insert { scope, many }),
        3 => (any_one(), 1..8_u8).prop_map(|(from, many)| Step::Erase { from, many }),
        3 => (any_one(), any_one()).prop_map(|(old, new)| Step::Supersede(old, new)),
        2 => any_one().prop_map(Step::Feedback),
        1 => Just(Step::Clear),
        1 => Just(Step::Fail),
        4 => Just(Step::Look),
    ]
}

/// Applies a step; a refused one (a chain that has moved, a memory that is gone) changes nothing.
fn apply(store: &Store, step: &Step, ids: &mut u32, seqs: &mut Vec<Seq>) {
    let pick =
        |index: &prop::sample::Index, seqs: &[Seq]| if seqs.is_empty() { 0 } else { seqs[index.index(seqs.len())] };
    match step {
        Step::Insert { scope, many } => {
            let (user, session) =
                [(None, None), (None, Some("s")), (Some("u"), None), (Some("u"), Some("s"))][usize::from(*scope)];
            store
                .write(&never, |tx| {
                    let scope = tx.ensure_scope(user, session)?;
                    for _ in 0..*many {
                        *ids += 1;
                        let new = NewMemory {
                            vectors: vec![Vector::first(vec![*ids as f32])],
                            ..turn(&ids.to_string(), "some text")
                        };
                        seqs.push(tx.insert(&scope, &new)?.seq);
                    }
                    Ok(())
                })
                .unwrap();
        }
        Step::Erase { from, many } => {
            let start = if seqs.is_empty() { 0 } else { from.index(seqs.len()) };
            let some: Vec<Seq> = seqs.iter().skip(start).take(usize::from(*many)).copied().collect();
            store.write(&never, |tx| tx.erase(&some)).unwrap();
        }
        Step::Supersede(old, new) => {
            let (old, new) = (pick(old, seqs), pick(new, seqs));
            let _ = store.write(&never, |tx| tx.supersede(old, new, 9));
        }
        Step::Feedback(index) => {
            let seq = pick(index, seqs);
            let _ = store.write(&never, |tx| tx.add_feedback(seq, Outcome::Useful, 3));
        }
        Step::Clear => drop(store.write(&never, |tx| tx.clear()).unwrap()),
        Step::Fail => {
            let failed = store.write(&never, |tx| {
                tx.clear()?;
                Err::<(), _>(retentive_core::error::Error::invalid("no"))
            });
            assert!(failed.is_err());
        }
        Step::Look => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_caught_up_equals_a_reload(steps in proptest::collection::vec(step(), 1..60)) {
        let store = in_memory();
        let (mut ids, mut seqs) = (0, Vec::new());
        let mut copies: BTreeMap<i64, Copy> = BTreeMap::new();
        for step in &steps {
            apply(&store, step, &mut ids, &mut seqs);
            if matches!(step, Step::Look) {
                for scope in read(&store, |tx| tx.partitions(Owners::Any)) {
                    copies.entry(scope.partition).or_default().catch_up(&store, scope.partition);
                }
            }
        }
        for (partition, copy) in &mut copies {
            copy.catch_up(&store, *partition);
            let mut fresh = Copy::default();
            fresh.catch_up(&store, *partition);
            prop_assert_eq!(&*copy, &fresh);
        }
        let held: usize = copies.values().map(|copy| copy.rows.len()).sum();
        let stats = read(&store, |tx| tx.stats());
        prop_assert!(held as u64 <= stats.by_kind.iter().sum::<u64>());
    }
}

#[test]
fn a_copy_older_than_the_tombstones_is_told_to_reload() {
    let store = in_memory();
    let add = |many: usize, from: usize| {
        store
            .write(&never, |tx| {
                let scope = tx.ensure_scope(None, Some("s"))?;
                (from..from + many)
                    .map(|id| Ok(tx.insert(&scope, &turn(&id.to_string(), "x"))?.seq))
                    .collect::<Result<Vec<_>, _>>()
            })
            .unwrap()
    };
    let first = add(6_000, 0);
    let partition = read(&store, |tx| tx.owner(None, Some("s"))).unwrap();
    let mut copy = Copy::default();
    copy.catch_up(&store, partition);
    store.write(&never, |tx| tx.erase(&first[..5_000])).unwrap();
    assert!(read(&store, |tx| tx.changes(partition, copy.rev, &mut |_| Ok(()))).reload);
    assert_eq!(read(&store, |tx| tx.stats()).tombstones, 0);
    copy.catch_up(&store, partition);
    assert_eq!(copy.rows.keys().copied().collect::<Vec<_>>(), first[5_000..]);
    // One that has seen the pruning catches up as usual.
    store.write(&never, |tx| tx.erase(&first[5_000..5_001])).unwrap();
    let changes = read(&store, |tx| tx.changes(partition, copy.rev, &mut |_| Ok(())));
    assert_eq!((changes.reload, changes.gone), (false, vec![first[5_000]]));
    // A rev from the future belongs to another file.
    assert!(read(&store, |tx| tx.changes(partition, changes.rev + 1, &mut |_| Ok(()))).reload);
}

#[test]
fn a_copy_that_is_told_of_every_erasure_never_reloads() {
    let store = in_memory();
    let mut fresh = 0;
    let mut add = |many: usize| {
        let first = fresh;
        fresh += many;
        let added = store.write(&never, |tx| {
            let scope = tx.ensure_scope(None, Some("s"))?;
            let seqs = (first..first + many).map(|id| Ok(tx.insert(&scope, &turn(&id.to_string(), "x"))?.seq));
            seqs.collect::<Result<Vec<_>, _>>()
        });
        added.unwrap()
    };
    let kept = add(7_000);
    let partition = read(&store, |tx| tx.owner(None, Some("s"))).unwrap();
    let (mut copy, mut late) = (Copy::default(), Copy::default());
    copy.catch_up(&store, partition);
    late.catch_up(&store, partition);
    for many in [1_000, 6_000, 1, 3_000, 3_000, 3_000] {
        let gone = add(many);
        copy.catch_up(&store, partition);
        store.write(&never, |tx| tx.erase(&gone)).unwrap();
        let changes = read(&store, |tx| tx.changes(partition, copy.rev, &mut |_| Ok(())));
        assert_eq!((changes.reload, changes.gone), (false, gone));
        copy.catch_up(&store, partition);
        assert_eq!(copy.rows.keys().copied().collect::<Vec<_>>(), kept);
        let stats = read(&store, |tx| tx.stats());
        assert!(stats.tombstones <= (many + 4_096) as u64, "{}", stats.tombstones);
    }
    assert!(read(&store, |tx| tx.changes(partition, late.rev, &mut |_| Ok(()))).reload);
    late.catch_up(&store, partition);
    assert_eq!(late, copy);
}

#[test]
fn every_commit_touches_the_rev_of_its_partition_only() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let seq = put(&store, "a", &turn("1", "x"));
    put(&store, "b", &turn("2", "x"));
    let revs =
        || ["a", "b"].map(|session| read(&store, |tx| tx.partition_rev(tx.owner(None, Some(session))?.unwrap())));
    let [a, b] = revs();
    assert!(a < b);
    store.write(&never, |tx| tx.add_feedback(seq, Outcome::Useful, 1)).unwrap();
    let [after_a, after_b] = revs();
    assert!(after_a > b);
    assert_eq!(after_b, b);
}
