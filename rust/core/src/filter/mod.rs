//! See the folder's heading in ARCHITECTURE.md.
