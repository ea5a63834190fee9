//! The fork gate: no thread is inside native code, and no SQLite connection is open, at the instant a process forks.
//!
//! A child inherits the locks and mutexes of SQLite, not the threads that would release them: a new connection in it can hang.
//! So every entry into the engine passes this gate. Before a fork the gate closes, the forking thread waits until the others are
//! outside, and the members (open stores) close their connections; after it both sides open the gate and reopen on next use.
//!
//! Invariants:
//! * Whoever waits *at* the gate holds nothing: no lock of ours, no transaction. So `enter` comes first, before any lock.
//! * Whoever is *inside* waits only for threads that are inside too, so all of them come out. Waiting for anything else
//!   (another process, the caller's interrupt check) happens in [`pause`], outside.
//! * The gate itself is two atomics and short sleeps: nothing an operating system could hold or park across a fork.
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;

/// The top bit: closed. The one below: on which side those who enter now are counted. The rest: how many threads are inside, by side.
static STATE: AtomicU64 = AtomicU64::new(0);
const CLOSED: u64 = 1 << 63;
const SIDE: u64 = 1 << 62;
const BITS: u32 = 31;

/// Set while a thread waits in [`settle`]: the sides change for one at a time.
static SETTLING: AtomicBool = AtomicBool::new(false);

/// How often this process was forked off another one, counted from the one that loaded this.
static FORKS: AtomicU64 = AtomicU64::new(0);

static MEMBERS: Mutex<Vec<Weak<dyn ForkAware>>> = Mutex::new(Vec::new());
static INSTALLED: OnceLock<bool> = OnceLock::new();

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where this thread is counted, if it is inside.
    static COUNTED: Cell<u32> = const { Cell::new(0) };
}

/// What must let go of operating system resources before a fork. Called while no other thread is inside the gate.
pub trait ForkAware: Send + Sync {
    fn before_fork(&self);
}

/// Inside the gate until dropped. Reentrant per thread.
#[derive(Debug)]
#[must_use = "the gate is left when the guard is dropped"]
pub struct Guard {
    stays_on_its_thread: PhantomData<*const ()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let depth = DEPTH.get();
        DEPTH.set(depth.saturating_sub(1));
        if depth == 1 {
            leave();
        }
    }
}

/// Enters the gate, waiting while a fork is under way.
pub fn enter() -> Guard {
    let depth = DEPTH.get();
    if depth == 0 {
        arrive();
    }
    DEPTH.set(depth + 1);
    Guard { stays_on_its_thread: PhantomData }
}

/// Runs `outside` with the gate left, however deep this thread is in it; enters again after. The caller holds no lock and no transaction.
pub fn pause<T>(outside: impl FnOnce() -> T) -> T {
    struct Back(u32);
    impl Drop for Back {
        fn drop(&mut self) {
            arrive();
            DEPTH.set(self.0);
        }
    }
    let depth = DEPTH.replace(0);
    if depth == 0 {
        return outside();
    }
    leave();
    let _back = Back(depth);
    outside()
}

/// True inside [`enter`]'s guard.
#[must_use]
pub fn inside() -> bool {
    DEPTH.get() > 0
}

/// Differs between a process and its child: what the parent's threads were doing, nobody does here.
#[must_use]
pub fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// Registers the fork handlers, once per process. False: the system refused (no memory).
pub fn install() -> bool {
    *INSTALLED.get_or_init(register_handlers)
}

/// Adds a member that is told before each fork, until it is dropped. Called inside the gate.
pub fn join(member: Weak<dyn ForkAware>) -> bool {
    let installed = install();
    let mut members = MEMBERS.lock();
    members.retain(|member| member.strong_count() > 0);
    members.push(member);
    installed
}

fn arrive() {
    let mut nap = Nap::default();
    let mut state = STATE.load(Ordering::Relaxed);
    loop {
        if state & CLOSED != 0 {
            nap.take();
            state = STATE.load(Ordering::Relaxed);
            continue;
        }
        let side = side_of(state);
        match STATE.compare_exchange_weak(state, state + one_on(side), Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => return COUNTED.set(side),
            Err(now) => state = now,
        }
    }
}

fn leave() {
    STATE.fetch_sub(one_on(COUNTED.get()), Ordering::SeqCst);
}

/// Where those who enter are counted.
fn side_of(state: u64) -> u32 {
    u32::from(state & SIDE != 0)
}

fn one_on(side: u32) -> u64 {
    1 << (BITS * side)
}

fn on_side(state: u64, side: u32) -> u64 {
    (state >> (BITS * side)) & ((1 << BITS) - 1)
}

/// Waits until every other thread that is inside has been outside. Those that enter meanwhile are not waited for, and nobody is kept out.
///
/// For a thread that is about to fork and still can let others have what they expect of it, such as an interpreter: what the fork itself
/// has to wait for then is what began last.
pub fn settle() {
    if inside() {
        return;
    }
    let mut nap = Nap::default();
    while SETTLING.swap(true, Ordering::SeqCst) {
        nap.take();
    }
    let earlier = side_of(STATE.fetch_xor(SIDE, Ordering::SeqCst));
    let mut nap = Nap::default();
    while on_side(STATE.load(Ordering::SeqCst), earlier) > 0 {
        nap.take();
    }
    SETTLING.store(false, Ordering::SeqCst);
}

/// Sleeps that grow from 20 microseconds to 1 millisecond.
#[derive(Default)]
struct Nap(u32);

impl Nap {
    fn take(&mut self) {
        let microseconds = (20_u64 << self.0.min(6)).min(1_000);
        self.0 += 1;
        std::thread::sleep(Duration::from_micros(microseconds));
    }
}

/// How the forking thread is counted if it is itself inside (a fork out of a job): it cannot wait for itself.
fn own_share() -> u64 {
    if inside() { one_on(COUNTED.get()) } else { 0 }
}

fn close_gate() {
    let mut nap = Nap::default();
    // Two threads may fork at once: the second waits until the first has opened the gate again.
    while STATE.fetch_or(CLOSED, Ordering::SeqCst) & CLOSED != 0 {
        nap.take();
    }
    let mut nap = Nap::default();
    while STATE.load(Ordering::SeqCst) & !(CLOSED | SIDE) != own_share() {
        nap.take();
    }
}

extern "C" fn before_fork() {
    close_gate();
    let members: Vec<_> = MEMBERS.lock().iter().filter_map(Weak::upgrade).collect();
    for member in members {
        member.before_fork();
    }
}

extern "C" fn after_fork_in_parent() {
    STATE.fetch_and(!CLOSED, Ordering::SeqCst);
}

extern "C" fn after_fork_in_child() {
    // Only the forking thread lives on.
    FORKS.fetch_add(1, Ordering::Relaxed);
    SETTLING.store(false, Ordering::SeqCst);
    STATE.store(own_share(), Ordering::SeqCst);
}

#[cfg(unix)]
#[allow(unsafe_code)]
fn register_handlers() -> bool {
    // SAFETY: the three handlers are functions without arguments that live as long as this library, take no lock that a thread
    // outside the gate may hold, and do not unwind.
    let refused =
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) };
    refused == 0
}

#[cfg(not(unix))]
fn register_handlers() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entering_twice_counts_once_and_pausing_leaves_whatever_the_depth() {
        let outer = enter();
        let inner = enter();
        assert!(inside());
        pause(|| assert!(!inside()));
        assert!(inside());
        drop(inner);
        assert!(inside());
        drop(outer);
        assert!(!inside());
    }

    #[test]
    fn settling_waits_for_those_inside_and_not_for_those_that_come() {
        let (began, settled) = (&AtomicBool::new(false), &AtomicBool::new(false));
        let wait_for = |what: &AtomicBool| {
            while !what.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let first = enter();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                began.store(true, Ordering::SeqCst);
                settle();
                settled.store(true, Ordering::SeqCst);
            });
            wait_for(began);
            std::thread::sleep(Duration::from_millis(50));
            assert!(!settled.load(Ordering::SeqCst));
            scope.spawn(|| {
                let later = enter();
                wait_for(settled);
                drop(later);
            });
            std::thread::sleep(Duration::from_millis(50));
            assert!(!settled.load(Ordering::SeqCst));
            drop(first);
        });
        assert!(settled.load(Ordering::SeqCst));
        settle(); // on the other side
    }

    #[test]
    fn a_panic_in_a_pause_still_comes_back_inside() {
        let guard = enter();
        let paused = std::panic::catch_unwind(|| pause(|| std::panic::resume_unwind(Box::new("stop"))));
        assert!(paused.is_err());
        assert!(inside());
        drop(guard);
        assert!(!inside());
    }
}
