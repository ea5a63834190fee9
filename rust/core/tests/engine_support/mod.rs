//! A collection to test with: made-up vectors (each word a fixed random direction), short names for requests.
#![allow(dead_code, clippy::unwrap_used, clippy::must_use_candidate, clippy::missing_panics_doc)]
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use retentive_core::engine::{
    BoundModel, ContextRequest, Correction, Engine, Forget, Memory, Mode, NewMemory, Options, Ranked, Reach,
    RecallRequest, SearchRequest, Settings,
};
use retentive_core::model::{Judge, Kind, Outcome, Vector};
use retentive_core::store::Durability;

pub const DAY: i64 = 86_400_000_000;
pub const MINUTE: i64 = 60_000_000;
pub const NOW: i64 = 20_000 * DAY;
pub const DIMENSION: usize = 256;

pub fn go() -> bool {
    false
}

pub fn open(path: Option<&Path>) -> Engine {
    open_with_cache(path, 64)
}

pub fn open_with_cache(path: Option<&Path>, cache_mb: usize) -> Engine {
    let engine = unbound(path, cache_mb);
    engine.bind_models(&[model("made-up", Some(embed("the probe")))], &go).unwrap();
    engine
}

/// A collection that knows no model yet.
pub fn unbound(path: Option<&Path>, cache_mb: usize) -> Engine {
    let options = Options {
        path: path.map(PathBuf::from),
        name: "chat".to_owned(),
        language: "english".to_owned(),
        durability: Durability::Normal,
        cache_mb,
        busy_timeout: Duration::from_secs(30),
        readonly: false,
        entropy: [7; 32],
    };
    Engine::open(options, &go).unwrap()
}

/// A model of the tests' dimension.
pub fn model(name: &str, probe: Option<Vec<f32>>) -> BoundModel {
    BoundModel { name: name.to_owned(), dimension: DIMENSION, probe }
}

/// A collection in a file, which goes with it.
pub struct OnDisk {
    pub engine: Engine,
    pub folder: tempfile::TempDir,
}

pub fn on_disk() -> OnDisk {
    let folder = tempfile::tempdir().unwrap();
    OnDisk { engine: open(Some(&folder.path().join("chat.db"))), folder }
}

pub fn embed(text: &str) -> Vec<f32> {
    let mut sum = vec![0.0; DIMENSION];
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let mut state = word
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        for slot in &mut sum {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *slot += (state >> 40) as f32 / 8_388_608.0 - 1.0;
        }
    }
    sum
}

static IDS: AtomicU64 = AtomicU64::new(0);

pub fn new_id() -> String {
    format!("mem_{:026}", IDS.fetch_add(1, Ordering::Relaxed))
}

pub fn said(session: &str, text: &str) -> NewMemory {
    NewMemory {
        id: new_id(),
        text: text.to_owned(),
        kind: Kind::Turn,
        user: None,
        session: Some(session.to_owned()),
        role: Some("user".to_owned()),
        name: None,
        key: None,
        turn: None,
        ts: NOW - DAY,
        expires: None,
        metadata: None,
        vectors: vec![Vector::first(embed(text))],
        model_epoch: None,
        judge: Judge::None,
        supersedes: Vec::new(),
        replace: false,
    }
}

pub fn fact(session: &str, text: &str) -> NewMemory {
    NewMemory { kind: Kind::Fact, ..said(session, text) }
}

pub fn keyed(session: &str, key: &str, text: &str) -> NewMemory {
    NewMemory { key: Some(key.to_owned()), ..fact(session, text) }
}

pub fn document(id: &str, text: &str) -> NewMemory {
    NewMemory { id: id.to_owned(), kind: Kind::Document, session: None, role: None, replace: true, ..said("", text) }
}

pub fn correction(text: &str) -> Correction {
    Correction {
        id: new_id(),
        text: text.to_owned(),
        ts: NOW,
        vectors: vec![Vector::first(embed(text))],
        model_epoch: None,
        expires: Vec::new(),
    }
}

pub fn settings() -> Settings {
    Settings {
        half_life_days: 7.0,
        recency_weight: 0.5,
        feedback_weight: 0.25,
        feedback_half_life_days: 30.0,
        sitting_gap_us: 3600 * 1_000_000,
        recall_roles: None,
        recall_min_words: 1,
        max_turns: None,
        signals: Vec::new(),
        dense_weights: vec![0.5],
    }
}

pub fn session(name: &str) -> Reach {
    Reach { session: Some(name.to_owned()), ..Reach::default() }
}

pub fn user(name: &str) -> Reach {
    Reach { user: Some(name.to_owned()), ..Reach::default() }
}

pub fn anybody() -> Reach {
    Reach { any_user: true, ..Reach::default() }
}

pub fn ask(query: &str, reach: Reach) -> RecallRequest {
    RecallRequest {
        query: query.to_owned(),
        vectors: vec![embed(query)],
        query_terms: Vec::new(),
        model_epoch: None,
        reach,
        limit: Some(10),
        token_budget: None,
        score_gap: None,
        kinds: vec![Kind::Turn, Kind::Fact, Kind::Pinned],
        include_superseded: false,
        mode: Mode::Hybrid,
        now: NOW,
        as_of: None,
        exclude_ids: Vec::new(),
        filter: None,
        min_relevance: None,
        refusal_floor: None,
        late_interaction_floor: None,
        calibrated: false,
        settings: settings(),
    }
}

pub fn look(query: &str, reach: Reach) -> SearchRequest {
    SearchRequest {
        query: Some(query.to_owned()),
        vectors: vec![embed(query)],
        model_epoch: None,
        reach,
        limit: Some(10),
        token_budget: None,
        score_gap: None,
        mode: Mode::Hybrid,
        now: NOW,
        filter: None,
        max_distance: None,
        calibrated: false,
        dense_weights: vec![0.5],
        explain: false,
    }
}

pub fn block(query: &str, reach: Reach, recent_turns: usize) -> ContextRequest {
    let recent_session = reach.session.clone();
    ContextRequest { recall: ask(query, reach), recent_session, recent_turns }
}

pub fn forget(reach: Reach, kinds: &[Kind]) -> Forget {
    Forget { reach, kinds: kinds.to_vec(), before: None, ids: None, superseded: false, now: NOW }
}

/// Verbs without the ceremony.
pub trait Short {
    fn add(&self, new: NewMemory) -> String;
    fn recalled(&self, query: &str, session_name: &str) -> Vec<String>;
    fn ranked(&self, request: &RecallRequest) -> Ranked;
    fn correct(&self, id: &str, text: &str) -> String;
    fn one(&self, id: &str) -> Option<Memory>;
}

impl Short for Engine {
    fn add(&self, new: NewMemory) -> String {
        self.remember(vec![new], NOW, &go).unwrap().remove(0)
    }

    fn recalled(&self, query: &str, session_name: &str) -> Vec<String> {
        texts(&self.ranked(&ask(query, session(session_name))).memories)
    }

    fn ranked(&self, request: &RecallRequest) -> Ranked {
        self.recall(request, &go).unwrap()
    }

    fn correct(&self, id: &str, text: &str) -> String {
        self.feedback(id, Outcome::Corrected, NOW, Some(correction(text)), NOW, &go).unwrap().unwrap()
    }

    fn one(&self, id: &str) -> Option<Memory> {
        self.get(&[id.to_owned()], NOW, &go).unwrap().remove(0)
    }
}

pub fn texts(memories: &[Memory]) -> Vec<String> {
    memories.iter().map(|memory| memory.text.clone()).collect()
}

pub fn ids(memories: &[Memory]) -> Vec<String> {
    memories.iter().map(|memory| memory.id.clone()).collect()
}
