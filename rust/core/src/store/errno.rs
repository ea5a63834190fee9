//! The operating system's errors as `errno` has them, which is what Python says. Windows has numbers of its own, of
//! which the kind tells the `errno`.
use std::io::{Error, ErrorKind};

/// The `errno` of the error, or `otherwise` where it has none.
pub(super) fn errno(error: &Error, otherwise: i32) -> i32 {
    if cfg!(windows) { of_kind(error.kind()).unwrap_or(otherwise) } else { error.raw_os_error().unwrap_or(otherwise) }
}

/// No room on the disk, in a quota, or under a limit on a file's size.
pub(super) fn is_full(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// The operating system's words for it, as Python gives them.
pub(super) fn described(errno: i32) -> String {
    if cfg!(windows) {
        return words(errno).map_or_else(|| format!("error {errno}"), str::to_owned);
    }
    let message = Error::from_raw_os_error(errno).to_string();
    message.strip_suffix(&format!(" (os error {errno})")).unwrap_or(&message).to_owned()
}

fn of_kind(kind: ErrorKind) -> Option<i32> {
    Some(match kind {
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::AlreadyExists => libc::EEXIST,
        ErrorKind::NotADirectory => libc::ENOTDIR,
        ErrorKind::IsADirectory => libc::EISDIR,
        ErrorKind::ReadOnlyFilesystem => libc::EROFS,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => libc::ENOSPC,
        ErrorKind::FileTooLarge => libc::EFBIG,
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => libc::EBUSY,
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => libc::EINVAL,
        ErrorKind::WouldBlock => libc::EAGAIN,
        ErrorKind::OutOfMemory => libc::ENOMEM,
        _ => return None,
    })
}

fn words(errno: i32) -> Option<&'static str> {
    Some(match errno {
        libc::ENOENT => "No such file or directory",
        libc::EACCES => "Permission denied",
        libc::EPERM => "Operation not permitted",
        libc::EEXIST => "File exists",
        libc::ENOTDIR => "Not a directory",
        libc::EISDIR => "Is a directory",
        libc::EROFS => "Read-only file system",
        libc::ENOSPC => "No space left on device",
        libc::EFBIG => "File too large",
        libc::EBUSY => "Device or resource busy",
        libc::EINVAL => "Invalid argument",
        libc::EAGAIN => "Resource temporarily unavailable",
        libc::ENOMEM => "Not enough space",
        libc::EIO => "Input/output error",
        libc::EMFILE => "Too many open files",
        libc::ENFILE => "Too many open files in system",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept for Windows is what this system says.
    #[test]
    #[cfg(target_os = "linux")]
    fn kinds_and_words_are_those_of_the_system() {
        for errno in 1..=140 {
            let error = Error::from_raw_os_error(errno);
            assert_eq!(super::errno(&error, 0), errno);
            if let Some(words) = words(errno)
                && errno != libc::ENOMEM
            {
                assert_eq!(words, described(errno));
            }
            if let Some(found) = of_kind(error.kind())
                && words(errno).is_some()
            {
                assert_eq!(of_kind(Error::from_raw_os_error(found).kind()), Some(found));
            }
        }
        for errno in [libc::ENOSPC, libc::EDQUOT, libc::EFBIG] {
            assert!(is_full(&Error::from_raw_os_error(errno)));
        }
        assert!(!is_full(&Error::from_raw_os_error(libc::EIO)));
    }
}
