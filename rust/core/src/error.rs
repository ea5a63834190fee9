//! One error type for the whole core. Each variant is one Python class (or `OSError`, `KeyboardInterrupt`), mapped at one place in the binding.
use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Error>;

/// Messages say what came, what was expected and what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    InvalidInput(String),
    #[error("expected vectors of {expected} dimensions, got {got}; {hint}")]
    Dimension { expected: usize, got: usize, hint: String },
    #[error("no memory with id {id:?}; it was never stored here, or has been forgotten or expired")]
    NotFound { id: String },
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    Closed(String),
    #[error("{message}")]
    Configuration { message: String, hint: String },
    #[error("{message}")]
    Busy { path: PathBuf, message: String },
    #[error("{}: {message}", path.display())]
    Corrupt { path: PathBuf, message: String },
    #[error("{}: {message}", path.display())]
    Version { path: PathBuf, found: i64, supported: i64, message: String },
    #[error("{}: {message}", path.display())]
    Fingerprint { path: PathBuf, message: String },
    #[error("{}: {message}", path.display())]
    Full { path: PathBuf, message: String },
    /// Any other trouble of the store (`StoreError`).
    #[error("{}: {message}", path.display())]
    Store { path: PathBuf, message: String },
    /// An operating system error that passes through with errno and file name.
    #[error("{}: {message}", path.display())]
    Io { path: PathBuf, errno: i32, message: String },
    /// The caller's interrupt check said stop (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidInput(message.into())
    }

    pub fn corrupt(path: &Path, message: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_path_buf(), message: message.into() }
    }
}
