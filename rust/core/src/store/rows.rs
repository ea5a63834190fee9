//! What goes into and comes out of the store.
use crate::model::{Judge, Kind, Marks, Outcome, Vector};

/// Number of a memory: rising, never given out twice.
pub type Seq = i64;
/// Microseconds UTC.
pub type Micros = i64;
/// The partition that owns keys, pinned facts and a judge's candidates: `Scope::partition`, or [`super::ReadTx::owner`].
pub type OwnerRef = i64;

/// The numbers of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub seq: Seq,
    pub scope: i64,
    pub partition: i64,
    pub kind: Kind,
    pub turn: Option<i64>,
    pub ts: Micros,
    /// `None`: for ever.
    pub expires: Option<Micros>,
    /// Length by the built-in estimate.
    pub tokens: u32,
    pub words: u32,
    /// Share of characters in questions, 0 to 255.
    pub question: u8,
    pub supersedes: Option<Seq>,
    /// `Some(0)`: superseded, and the successor was forgotten.
    pub superseded_by: Option<Seq>,
    /// The successor's own time; stays when the successor is forgotten.
    pub superseded_at: Option<Micros>,
    pub keyed: bool,
    pub judge: Judge,
    /// A fact was consolidated from this turn.
    pub cited: bool,
    pub rev: i64,
}

/// What a partition is loaded from.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexRow {
    pub head: Head,
    pub id: String,
    pub role: Option<String>,
    pub name: Option<String>,
    /// The turns that a fact came from, of those that are still there.
    pub cites: Vec<Seq>,
    /// 64-bit hash and count of each analysed term, in the order stored.
    pub terms: Vec<(u64, u32)>,
    pub marks: Marks,
    pub vectors: Vec<Vector>,
    /// Where its one vector is, if its numbers, its content and that vector are all there is of the memory: no feedback, chain or
    /// judge. 0: there is more, or no vector.
    pub lone_vid: i64,
    /// Sign and time, in the order given.
    pub feedback: Vec<(i8, Micros)>,
}

impl IndexRow {
    /// A memory of which nothing is known but its numbers.
    #[must_use]
    pub fn of(head: Head) -> Self {
        Self {
            head,
            id: String::new(),
            role: None,
            name: None,
            cites: Vec::new(),
            terms: Vec::new(),
            marks: Marks::default(),
            vectors: Vec::new(),
            lone_vid: 0,
            feedback: Vec::new(),
        }
    }
}

/// What a memory is beside its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    pub id: String,
    pub user: Option<String>,
    pub session: Option<String>,
    pub role: Option<String>,
    pub name: Option<String>,
    pub key: Option<String>,
    pub text: String,
    /// A JSON object, the caller's bytes.
    pub metadata: Option<String>,
    /// Ids of the turns a fact came from.
    pub consolidated_from: Vec<String>,
}

/// A whole memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub head: Head,
    pub id: String,
    pub user: Option<String>,
    pub session: Option<String>,
    pub role: Option<String>,
    pub name: Option<String>,
    pub key: Option<String>,
    pub text: String,
    /// A JSON object, the caller's bytes.
    pub metadata: Option<String>,
    /// Ids of the turns a fact came from.
    pub consolidated_from: Vec<String>,
    pub feedback: Vec<(Outcome, Micros)>,
    pub supersedes_id: Option<String>,
    pub superseded_by_id: Option<String>,
}

/// What `insert` stores.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    pub id: String,
    pub kind: Kind,
    pub role: Option<String>,
    pub name: Option<String>,
    /// Trimmed and case-folded already.
    pub key: Option<String>,
    pub text: String,
    pub metadata: Option<String>,
    /// Explicit turn number. `None` on a turn: the session's next one.
    pub turn: Option<i64>,
    pub ts: Micros,
    pub expires: Option<Micros>,
    pub tokens: u32,
    pub words: u32,
    pub question: u8,
    pub terms: Vec<(u64, u32)>,
    pub marks: Marks,
    /// Of models that are current; stored model by model.
    pub vectors: Vec<Vector>,
    pub consolidated_from: Vec<String>,
    /// The turns that `consolidated_from` names, to be marked as cited.
    pub cited: Vec<Seq>,
    pub judge: Judge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inserted {
    pub seq: Seq,
    pub turn: Option<i64>,
}

/// A partition that holds something, without its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nameless {
    pub id: i64,
    /// It is a session's that belongs to no user.
    pub has_session: bool,
    /// Memories in the partition, expired and superseded ones included.
    pub owned: u64,
    /// Newest rev that touched it.
    pub rev: i64,
}

/// One session of one user, or what a user or the collection holds outside of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub id: i64,
    /// Id of the scope that is the partition: the user where one is given, else the session, else the collection.
    pub partition: i64,
    pub user: Option<String>,
    pub session: Option<String>,
    pub next_turn: i64,
    /// Memories in this scope, expired and superseded ones included.
    pub held: u64,
    /// Memories in the partition, on partition rows; else 0.
    pub owned: u64,
    /// Newest rev that touched the partition, on partition rows; else 0.
    pub rev: i64,
}

/// Whose scopes to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owners<'a> {
    WithoutUser,
    User(&'a str),
    Any,
}

/// What `heads` walks over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// In turn order; what has no turn number first.
    Scope(i64),
    /// In seq order.
    Partition(i64),
    /// In seq order.
    All,
    /// Whose time has come by then (`expires <= now`), by time.
    Expired(Micros),
}

impl Scan {
    /// What an index that points elsewhere would not give.
    pub(super) fn covers(self, head: &Head) -> bool {
        match self {
            Self::Scope(id) => head.scope == id,
            Self::Partition(id) => head.partition == id,
            Self::All => true,
            Self::Expired(now) => head.expires.is_some_and(|expires| expires <= now),
        }
    }

    /// What the walk goes up by, from row to row.
    pub(super) fn place(self, head: &Head) -> (Option<i64>, Seq) {
        let first = match self {
            Self::Scope(_) => head.turn,
            Self::Partition(_) | Self::All => None,
            Self::Expired(_) => head.expires,
        };
        (first, head.seq)
    }
}

/// How far a copy of a partition has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// It has all that was written up to this rev.
    pub rev: i64,
    /// And up to this one, of memories up to `seq`.
    pub newest: i64,
    pub seq: Seq,
}

impl From<i64> for Progress {
    /// All up to this rev, and nothing beyond it.
    fn from(rev: i64) -> Self {
        Self { rev, newest: rev, seq: 0 }
    }
}

/// What `changes` found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The partition's rev in this snapshot: the next `since`.
    pub rev: i64,
    /// Memories that are no more.
    pub gone: Vec<Seq>,
    /// The copy is too old to be caught up: nothing was delivered; drop it and ask again with `since = 0`.
    pub reload: bool,
}

/// Whose vectors these are.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub id: i64,
    pub name: String,
    pub dimension: u32,
    /// The embedder's vector for the fixed probe text.
    pub probe: Vec<f32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewModel {
    pub name: String,
    pub dimension: u32,
    pub probe: Vec<f32>,
}

/// Counts over the whole file, in one snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Memories by kind, in the order of `Kind::ALL`.
    pub by_kind: [u64; 4],
    pub superseded: u64,
    pub scopes: u64,
    pub partitions: u64,
    pub tombstones: u64,
    /// Erased rows that still take up space.
    pub erased: u64,
    pub page_size: u64,
    pub pages: u64,
    pub free_pages: u64,
    pub rev: i64,
}
