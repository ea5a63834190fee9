//! A disk that fails: an SQLite VFS above the system's own, the default one of the process that installs it. It makes any one
//! call fail, and keeps a record of what was written and synced, from which the disk after a power cut is made.
#![allow(unsafe_code, reason = "a VFS is a table of C functions")]
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, clippy::must_use_candidate)]
#![allow(clippy::unused_self, reason = "only who has taken the disk may break it")]
#![allow(clippy::cast_ptr_alignment, reason = "a handle is a multiple of eight bytes, so what follows it is aligned")]
mod image;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

use rusqlite::ffi;

pub use image::{Event, Image};

/// Which calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The one with this number, from 1.
    Once(u64),
    /// That one and all after it, until the disk is repaired.
    From(u64),
    /// The write with this number, and all writes after it, have no room for more than a half, until the disk is repaired.
    Full(u64),
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    calls: u64,
    writes: u64,
    injected: u64,
    files: Vec<PathBuf>,
    record: Option<Vec<Event>>,
}

static STATE: Mutex<State> =
    Mutex::new(State { fault: None, calls: 0, writes: 0, injected: 0, files: Vec::new(), record: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process's disk, for one test at a time.
pub struct Disk(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Disk {
    pub fn take() -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        static INSTALLED: Once = Once::new();
        let held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        INSTALLED.call_once(install);
        *state() = State::default();
        Self(held)
    }

    pub fn break_at(&self, fault: Fault) {
        let mut state = state();
        (state.fault, state.calls, state.writes, state.injected) = (Some(fault), 0, 0, 0);
    }

    /// No call fails any more; how many did.
    pub fn repair(&self) -> u64 {
        let mut state = state();
        state.fault = None;
        state.injected
    }

    /// From now on, what is written and synced is kept.
    pub fn record(&self) {
        state().record = Some(Vec::new());
    }

    /// Something the test wants to find again between two events.
    pub fn mark(&self, number: usize) {
        keep(|| Event::Mark(number));
    }

    pub fn recorded(&self) -> Vec<Event> {
        state().record.take().unwrap_or_default()
    }
}

/// Counts a call; is it one of those that fail?
fn fails() -> bool {
    let mut state = state();
    state.calls += 1;
    let failed = match state.fault {
        Some(Fault::Once(number)) => state.calls == number,
        Some(Fault::From(number)) => state.calls >= number,
        Some(Fault::Full(_)) | None => false,
    };
    state.injected += u64::from(failed);
    failed
}

/// Counts a write; has the disk no room for it?
fn is_full() -> bool {
    let mut state = state();
    state.writes += 1;
    let full = matches!(state.fault, Some(Fault::Full(number)) if state.writes >= number);
    state.injected += u64::from(full);
    full
}

fn keep(event: impl FnOnce() -> Event) {
    if let Some(record) = &mut state().record {
        record.push(event());
    }
}

fn number_of(path: PathBuf) -> usize {
    let mut state = state();
    state.files.iter().position(|known| *known == path).unwrap_or_else(|| {
        state.files.push(path);
        state.files.len() - 1
    })
}

/// The names of the files that events speak of by number.
pub fn names() -> Vec<PathBuf> {
    state().files.clone()
}

/// What SQLite allocates for an open file; the system's own handle follows.
#[repr(C, align(8))]
struct Handle {
    base: ffi::sqlite3_file,
    number: usize,
}

struct Vfs(ffi::sqlite3_vfs, *mut ffi::sqlite3_vfs);
// SAFETY: never changed after it was registered; SQLite itself calls it from any thread.
unsafe impl Send for Vfs {}
// SAFETY: as above.
unsafe impl Sync for Vfs {}
static VFS: OnceLock<Vfs> = OnceLock::new();

fn below() -> *mut ffi::sqlite3_vfs {
    VFS.get().unwrap().1
}

fn install() {
    // SAFETY: SQLite's default VFS lives as long as the process, and so does ours, which is a copy of its table.
    unsafe {
        ffi::sqlite3_initialize();
        let system = ffi::sqlite3_vfs_find(std::ptr::null());
        let mut table = *system;
        table.zName = c"failing".as_ptr();
        table.pNext = std::ptr::null_mut();
        table.szOsFile += c_int::try_from(size_of::<Handle>()).unwrap();
        table.xOpen = Some(open);
        table.xDelete = Some(delete);
        table.xAccess = Some(access);
        let ours = VFS.get_or_init(|| Vfs(table, system));
        let registered = ffi::sqlite3_vfs_register(std::ptr::from_ref(&ours.0).cast_mut(), 1);
        assert_eq!(registered, ffi::SQLITE_OK);
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2, // without memory mapping, which the store does not use
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe fn path_of(name: *const c_char) -> PathBuf {
    if name.is_null() {
        return PathBuf::new(); // a temporary file
    }
    // SAFETY: SQLite's names end in a zero byte.
    PathBuf::from(unsafe { CStr::from_ptr(name) }.to_str().unwrap())
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives us `szOsFile` bytes, of which ours come first.
    unsafe {
        (*file).pMethods = std::ptr::null();
        if fails() {
            return ffi::SQLITE_CANTOPEN;
        }
        let opened = (*below()).xOpen.unwrap()(below(), name, real(file), flags, flags_out);
        if opened == ffi::SQLITE_OK {
            (*file.cast::<Handle>()).number = number_of(path_of(name));
            (*file).pMethods = &raw const METHODS;
        }
        opened
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    if fails() {
        return ffi::SQLITE_IOERR_DELETE;
    }
    // SAFETY: as SQLite called us.
    unsafe {
        let number = number_of(path_of(name));
        keep(|| Event::Delete { file: number });
        (*below()).xDelete.unwrap()(below(), name, sync)
    }
}

unsafe extern "C" fn access(_: *mut ffi::sqlite3_vfs, name: *const c_char, flags: c_int, answer: *mut c_int) -> c_int {
    if fails() {
        return ffi::SQLITE_IOERR_ACCESS;
    }
    // SAFETY: as SQLite called us.
    unsafe { (*below()).xAccess.unwrap()(below(), name, flags, answer) }
}

fn real(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    file.cast::<u8>().wrapping_add(size_of::<Handle>()).cast()
}

unsafe fn methods(file: *mut ffi::sqlite3_file) -> &'static ffi::sqlite3_io_methods {
    // SAFETY: the system's handle was opened, and its table of methods is a static one.
    unsafe { &*(*real(file)).pMethods }
}

unsafe fn number(file: *mut ffi::sqlite3_file) -> usize {
    // SAFETY: one of ours.
    unsafe { (*file.cast::<Handle>()).number }
}

/// The system's own method, after it may have failed with a code.
macro_rules! method {
    ($name:ident, $method:ident, ($($argument:ident: $type:ty),*) $(, fails $code:ident)?) => {
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($argument: $type),*) -> c_int {
            $(if fails() {
                return ffi::$code;
            })?
            // SAFETY: SQLite calls us with what the system's own method takes.
            unsafe { methods(file).$method.unwrap()(real(file), $($argument),*) }
        }
    };
}

method!(close, xClose, ());
method!(read, xRead, (buffer: *mut c_void, amount: c_int, offset: i64), fails SQLITE_IOERR_READ);
method!(write_below, xWrite, (buffer: *const c_void, amount: c_int, offset: i64), fails SQLITE_IOERR_WRITE);
method!(truncate_below, xTruncate, (size: i64), fails SQLITE_IOERR_TRUNCATE);
method!(sync_below, xSync, (flags: c_int), fails SQLITE_IOERR_FSYNC);
method!(file_size, xFileSize, (size: *mut i64), fails SQLITE_IOERR_FSTAT);
method!(lock, xLock, (level: c_int), fails SQLITE_IOERR_LOCK);
method!(unlock, xUnlock, (level: c_int));
method!(check_reserved_lock, xCheckReservedLock, (answer: *mut c_int), fails SQLITE_IOERR_CHECKRESERVEDLOCK);
method!(file_control, xFileControl, (operation: c_int, argument: *mut c_void));
method!(sector_size, xSectorSize, ());
method!(device_characteristics, xDeviceCharacteristics, ());
method!(shm_lock_now, xShmLock, (offset: c_int, count: c_int, flags: c_int), fails SQLITE_IOERR_SHMLOCK);
method!(shm_unlock, xShmLock, (offset: c_int, count: c_int, flags: c_int));
method!(shm_unmap, xShmUnmap, (delete: c_int));
method!(shm_map, xShmMap, (page: c_int, size: c_int, extend: c_int, address: *mut *mut c_void), fails SQLITE_IOERR_SHMMAP);

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, buffer: *const c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: as SQLite called us; the buffer has as many bytes as it says.
    unsafe {
        let full = is_full();
        let amount = if full { amount / 2 } else { amount };
        let answer = write_below(file, buffer, amount, offset);
        if full {
            return ffi::SQLITE_FULL;
        }
        if answer == ffi::SQLITE_OK {
            let bytes = std::slice::from_raw_parts(buffer.cast::<u8>(), usize::try_from(amount).unwrap());
            let (file, offset) = (number(file), usize::try_from(offset).unwrap());
            keep(|| Event::Write { file, offset, bytes: bytes.to_vec() });
        }
        answer
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: as SQLite called us.
    let (answer, number) = unsafe { (truncate_below(file, size), number(file)) };
    if answer == ffi::SQLITE_OK {
        keep(|| Event::Truncate { file: number, size: usize::try_from(size).unwrap() });
    }
    answer
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: as SQLite called us.
    let (answer, number) = unsafe { (sync_below(file, flags), number(file)) };
    if answer == ffi::SQLITE_OK {
        keep(|| Event::Sync { file: number });
    }
    answer
}

/// Letting go of a lock never fails, as on a real disk.
unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, count: c_int, flags: c_int) -> c_int {
    let method = if flags & ffi::SQLITE_SHM_UNLOCK == 0 { shm_lock_now } else { shm_unlock };
    // SAFETY: as SQLite called us.
    unsafe { method(file, offset, count, flags) }
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: as SQLite called us.
    unsafe { methods(file).xShmBarrier.unwrap()(real(file)) }
}
