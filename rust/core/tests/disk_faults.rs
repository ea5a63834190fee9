//! A disk on which any one call fails, a disk that fails from some call on, and a disk whose power was cut.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
mod disk_support;
mod engine_support;

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use disk_support::{Disk, Event, Fault, Image, names};
use engine_support::*;
use retentive_core::engine::{Engine, Memory, NewMemory, Options};
use retentive_core::error::{Error, Result};
use retentive_core::model::{Kind, Outcome};
use retentive_core::store::Durability;

const LATER: i64 = NOW + 10 * DAY;

fn options(folder: &Path, durability: Durability) -> Options {
    Options {
        path: Some(folder.join("chat.db")),
        name: "chat".to_owned(),
        language: "english".to_owned(),
        durability,
        cache_mb: 64,
        busy_timeout: Duration::from_millis(100),
        readonly: false,
        entropy: [7; 32],
    }
}

fn open_at(folder: &Path, durability: Durability) -> Result<Engine> {
    let engine = Engine::open(options(folder, durability), &go)?;
    engine.bind_models(&[model("made-up", Some(embed("the probe")))], &go)?;
    Ok(engine)
}

/// `make soak` breaks every call and cuts after every event; a normal run takes one in so many.
fn stride() -> usize {
    if std::env::var_os("RETENTIVE_SOAK").is_some() { 1 } else { 6 }
}

/// In memory where the system has such a place: what is tested is which calls are made, not how fast they are.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn named(id: &str, new: NewMemory) -> NewMemory {
    NewMemory { id: id.to_owned(), ..new }
}

/// What an operation does to a memory.
#[derive(Clone, Copy)]
enum Effect {
    Stored(&'static str),
    Gone(&'static str),
    Superseded(&'static str),
    Rated(&'static str),
}

impl Effect {
    fn shows(self, engine: &Engine) -> Result<bool> {
        let (Self::Stored(id) | Self::Gone(id) | Self::Superseded(id) | Self::Rated(id)) = self;
        let found = engine.get(&[id.to_owned()], NOW, &go)?.remove(0);
        Ok(match self {
            Self::Stored(_) => found.is_some_and(|memory| memory.text.ends_with(id)),
            Self::Gone(_) => found.is_none(),
            Self::Superseded(_) => found.is_some_and(|memory| memory.superseded_by.is_some()),
            Self::Rated(_) => found.is_some_and(|memory| !memory.feedback.is_empty()),
        })
    }
}

/// A change: its call, and what all of it shows as.
struct Operation {
    call: fn(&Engine) -> Result<()>,
    effects: &'static [Effect],
}

fn text_of(id: &str) -> String {
    format!("this text is that of {id}")
}

fn store(engine: &Engine, ids: &[&str], make: fn(&str) -> NewMemory) -> Result<()> {
    let new = ids.iter().map(|id| named(id, make(&text_of(id)))).collect();
    engine.remember(new, NOW, &go).map(drop)
}

fn turn(text: &str) -> NewMemory {
    said("s", text)
}

fn key(text: &str) -> NewMemory {
    keyed("s", "the key", text)
}

/// Each touches memories of its own, so that each can be looked at alone.
const OPERATIONS: &[Operation] = &[
    Operation { call: |db| store(db, &["one"], turn), effects: &[Effect::Stored("one")] },
    Operation {
        call: |db| store(db, &["many1", "many2", "many3"], turn),
        effects: &[Effect::Stored("many1"), Effect::Stored("many2"), Effect::Stored("many3")],
    },
    Operation {
        call: |db| {
            let correction =
                retentive_core::engine::Correction { id: "corrected".to_owned(), ..correction(&text_of("corrected")) };
            db.feedback("old2", Outcome::Corrected, NOW, Some(correction), NOW, &go).map(drop)
        },
        effects: &[Effect::Stored("corrected"), Effect::Superseded("old2"), Effect::Rated("old2")],
    },
    Operation {
        call: |db| db.feedback("old3", Outcome::Useful, NOW, None, NOW, &go).map(drop),
        effects: &[Effect::Rated("old3")],
    },
    Operation { call: |db| store(db, &["key2"], key), effects: &[Effect::Stored("key2"), Effect::Superseded("key1")] },
    Operation {
        call: |db| db.delete(&["old4".to_owned(), "old5".to_owned()], &go).map(drop),
        effects: &[Effect::Gone("old4"), Effect::Gone("old5")],
    },
    Operation {
        call: |db| db.expire(LATER, &go).map(drop),
        effects: &[Effect::Gone("dated1"), Effect::Gone("dated2")],
    },
    Operation {
        call: |db| {
            let new = vec![named("new1", said("r", &text_of("new1"))), named("new2", said("r", &text_of("new2")))];
            db.replace_turns(None, "r", new, NOW, &go).map(drop)
        },
        effects: &[
            Effect::Stored("new1"),
            Effect::Stored("new2"),
            Effect::Gone("replaced1"),
            Effect::Gone("replaced2"),
        ],
    },
    Operation {
        call: |db| db.forget(&forget(session("t"), &[Kind::Turn]), &go).map(drop),
        effects: &[Effect::Gone("left1"), Effect::Gone("left2")],
    },
];

/// What is stored before the disk fails, and what of it must be there whatever happens.
fn prepare(folder: &Path) -> Vec<String> {
    let engine = open_at(folder, Durability::Full).unwrap();
    let kept: Vec<String> = (0..12).map(|number| format!("old{number}")).collect();
    for id in &kept {
        store(&engine, &[id], if id == "old2" { |text| fact("s", text) } else { turn }).unwrap();
    }
    store(&engine, &["key1"], key).unwrap();
    store(&engine, &["dated1", "dated2"], |text| NewMemory { expires: Some(NOW + DAY), ..turn(text) }).unwrap();
    store(&engine, &["replaced1", "replaced2"], |text| said("r", text)).unwrap();
    store(&engine, &["left1", "left2"], |text| said("t", text)).unwrap();
    kept.into_iter().filter(|id| id != "old4" && id != "old5").chain(["key1".to_owned()]).collect()
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// A disk's trouble is told as such: not as damage, not as somebody else's lock, not as an answer.
fn expect_trouble(error: &Error, when: &str) {
    let typed = matches!(error, Error::Store { .. } | Error::Io { .. } | Error::Full { .. });
    assert!(typed, "{when}: {error:?}");
    assert!(error.to_string().contains("chat.db") || matches!(error, Error::Io { .. }), "{when}: {error}");
}

fn read_everything(engine: &Engine) -> Result<Vec<Memory>> {
    let mut all = engine.turns("s", None, None, NOW, &go)?;
    assert!(all.windows(2).all(|pair| pair[0].turn < pair[1].turn), "turn numbers: {all:?}");
    all.extend(engine.recall(&ask("this text", session("s")), &go)?.memories);
    all.extend(engine.facts(None, Some("s"), NOW, &go)?);
    Ok(all)
}

fn expect_right(memories: &[Memory], when: &str) {
    for memory in memories {
        assert!(memory.text == text_of(&memory.id), "{when}: {memory:?}");
    }
}

/// Each operation shows wholly or not at all; wholly, if it was acknowledged. Which show comes back.
fn expect_whole(engine: &Engine, acknowledged: &[bool], kept: &[String], when: &str) -> Vec<bool> {
    let found = engine.get(kept, NOW, &go).unwrap();
    assert!(found.iter().all(Option::is_some), "{when}: an old memory is lost");
    expect_right(&found.into_iter().flatten().collect::<Vec<_>>(), when);
    expect_right(&read_everything(engine).unwrap(), when);
    let shown = OPERATIONS.iter().zip(acknowledged).enumerate().map(|(number, (operation, acknowledged))| {
        let effects: Vec<bool> = operation.effects.iter().map(|effect| effect.shows(engine).unwrap()).collect();
        assert!(
            effects.iter().all(|shows| *shows == effects[0]),
            "{when}: operation {number} is half there: {effects:?}"
        );
        assert!(effects[0] || !acknowledged, "{when}: operation {number} was acknowledged and is lost");
        effects[0]
    });
    shown.collect()
}

/// Opens, does everything, reads in between; an error ends the operation that met it, not the run.
fn run(folder: &Path, durability: Durability, when: &str, mut after: impl FnMut(usize)) -> (Option<Engine>, Vec<bool>) {
    let engine = match open_at(folder, durability) {
        Ok(engine) => engine,
        Err(error) => {
            expect_trouble(&error, when);
            return (None, vec![false; OPERATIONS.len()]);
        }
    };
    let mut acknowledged = Vec::new();
    for (number, operation) in OPERATIONS.iter().enumerate() {
        let answer = (operation.call)(&engine);
        acknowledged.push(answer.is_ok());
        if answer.is_ok() {
            after(number);
        }
        for answer in [answer, read_everything(&engine).map(|memories| expect_right(&memories, when))] {
            answer.unwrap_or_else(|error| expect_trouble(&error, when));
        }
    }
    (Some(engine), acknowledged)
}

/// Every call in turn, until one run needs no more calls than that.
fn break_every_call(durability: Durability, fault: fn(u64) -> Fault) -> u64 {
    let disk = Disk::take();
    let prepared = folder();
    let kept = prepare(prepared.path());
    let mut faults = 0;
    for number in (1..).step_by(stride()) {
        let place = folder();
        copy(prepared.path(), place.path());
        let when = format!("{:?}", fault(number));
        disk.break_at(fault(number));
        let (engine, acknowledged) = run(place.path(), durability, &when, |_| {});
        let injected = disk.repair();
        faults += injected;
        let engine = engine.unwrap_or_else(|| open_at(place.path(), durability).unwrap());
        let shown = expect_whole(&engine, &acknowledged, &kept, &when);
        store(&engine, &["after"], turn).unwrap_or_else(|error| panic!("{when}: {error}"));
        assert!(Effect::Stored("after").shows(&engine).unwrap());
        drop(engine);
        let reopened = open_at(place.path(), durability).unwrap();
        assert_eq!(expect_whole(&reopened, &shown, &kept, &when), shown, "{when}: reopened");
        assert!(Effect::Stored("after").shows(&reopened).unwrap());
        if injected == 0 {
            assert!(acknowledged.iter().all(|done| *done));
            break;
        }
    }
    println!("counted faults_injected {faults}");
    faults
}

#[test]
fn a_collection_that_could_not_be_made_is_made_by_the_next_open() {
    let disk = Disk::take();
    let mut faults = 0;
    for fault in [Fault::Once, Fault::From] {
        for number in 1.. {
            let place = folder();
            let when = format!("{:?}", fault(number));
            disk.break_at(fault(number));
            let made = open_at(place.path(), Durability::Full);
            let injected = disk.repair();
            faults += injected;
            let failed = made.map(drop).map_err(|error| expect_trouble(&error, &when)).is_err();
            let engine = open_at(place.path(), Durability::Full).unwrap_or_else(|error| panic!("{when}: {error}"));
            store(&engine, &["first"], turn).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert!(Effect::Stored("first").shows(&engine).unwrap(), "{when}");
            if injected == 0 {
                assert!(!failed, "{when}");
                break;
            }
        }
    }
    println!("counted faults_injected {faults}");
    assert!(faults > 50, "{faults}");
}

#[test]
fn one_failed_call_is_a_typed_error_and_the_next_write_works() {
    assert!(break_every_call(Durability::Full, Fault::Once) >= 100);
}

#[test]
fn a_disk_that_fails_from_some_call_on_loses_nothing_acknowledged() {
    assert!(break_every_call(Durability::Normal, Fault::From) > 900);
}

/// What it says of the first call that finds no room is true also for who opens the file after a kill.
#[test]
fn a_full_disk_says_that_nothing_was_stored_and_nothing_is() {
    let disk = Disk::take();
    let prepared = folder();
    let kept = prepare(prepared.path());
    let (mut faults, mut refused) = (0, 0);
    for number in (1..).step_by(stride()) {
        let (place, killed) = (folder(), folder());
        copy(prepared.path(), place.path());
        let when = format!("full at write {number}");
        let engine = open_at(place.path(), Durability::Full).unwrap();
        disk.break_at(Fault::Full(number));
        let failed =
            OPERATIONS.iter().enumerate().find_map(|(at, operation)| Some((at, (operation.call)(&engine).err()?)));
        copy(place.path(), killed.path());
        let injected = disk.repair();
        faults += injected;
        if let Some((at, error)) = &failed {
            refused += 1;
            assert!(matches!(error, Error::Full { .. }), "{when}: {error:?}");
            assert!(error.to_string().contains("nothing of that write is stored"), "{when}: {error}");
            let done: Vec<bool> = (0..OPERATIONS.len()).map(|number| number < *at).collect();
            for folder in [place.path(), killed.path()] {
                let seen = open_at(folder, Durability::Full).unwrap();
                assert_eq!(expect_whole(&seen, &done, &kept, &when), done, "{when}");
            }
        }
        store(&engine, &["after"], turn).unwrap_or_else(|error| panic!("{when}: {error}"));
        if injected == 0 {
            assert!(failed.is_none());
            break;
        }
    }
    println!("counted faults_injected {faults}");
    assert!(refused > 5, "{refused}");
}

/// Cuts the power after every event of one run. `expect` gets which operations show then, and which were acknowledged.
fn cut_everywhere(durability: Durability, expect: impl Fn(&[bool], &[bool], &str)) {
    let disk = Disk::take();
    let prepared = folder();
    disk.record();
    let kept = prepare(prepared.path());
    disk.mark(OPERATIONS.len());
    let (engine, acknowledged) = run(prepared.path(), durability, "whole", |number| disk.mark(number));
    drop(engine);
    assert!(acknowledged.iter().all(|done| *done));
    let (events, names) = (disk.recorded(), names());
    let mut image = Image::default();
    let (mut begun, mut done, mut cuts) = (false, vec![false; OPERATIONS.len()], 0);
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut chance = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed >> 33
    };
    for (number, event) in events.iter().enumerate() {
        image.see(event);
        match event {
            Event::Mark(mark) if *mark < done.len() => done[*mark] = true,
            Event::Mark(_) => begun = true,
            _ => {}
        }
        // What is durable changes with these; what else may be there, with every event.
        let settled = matches!(event, Event::Sync { .. } | Event::Delete { .. } | Event::Mark(_));
        for torn in [false, true].into_iter().filter(|torn| if *torn { number % stride() == 0 } else { settled }) {
            let when = format!("cut after event {number}, torn {torn}");
            let place = folder();
            image.cut(&names, place.path(), &mut torn.then_some(&mut chance));
            let engine = open_at(place.path(), durability).unwrap_or_else(|error| panic!("{when}: {error}"));
            if begun {
                let shown = expect_whole(&engine, &vec![false; done.len()], &kept, &when);
                expect(&shown, &done, &when);
            } else {
                expect_right(&read_everything(&engine).unwrap(), &when);
            }
            store(&engine, &["after"], turn).unwrap();
            cuts += 1;
        }
    }
    println!("counted power_cuts {cuts}");
    assert!(cuts > 150, "{cuts}");
}

#[test]
fn a_power_cut_under_full_durability_loses_nothing_acknowledged() {
    cut_everywhere(Durability::Full, |shown, done, when| {
        for (number, (shown, done)) in shown.iter().zip(done).enumerate() {
            assert!(*shown || !done, "{when}: operation {number} is lost");
        }
    });
}

#[test]
fn a_power_cut_under_normal_durability_loses_the_last_commits_at_most() {
    let lost = Cell::new(0);
    cut_everywhere(Durability::Normal, |shown, done, when| {
        assert!(shown.windows(2).all(|pair| pair[0] || !pair[1]), "{when}: not a beginning: {shown:?}");
        lost.set(lost.get() + shown.iter().zip(done).filter(|(shown, done)| !**shown && **done).count());
    });
    assert!(lost.get() > 0, "a cut that loses nothing is none");
}
