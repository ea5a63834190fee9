//! The engine of retentive. No Python, no wall clock, no randomness: `now`, ids and entropy are arguments.
//!
//! A layer uses only the layers below it: `engine` → `partition` → `rank` → `lexical`, `vector`, `filter` → `calendar`, `model`, `error`.
//! `store` is the only module that knows SQL.
pub mod calendar;
pub mod engine;
pub mod error;
pub mod filter;
pub mod gate;
pub mod lexical;
pub mod model;
pub mod pack;
pub mod partition;
pub mod rank;
pub mod store;
pub mod tokens;
pub mod ulid;
pub mod vector;
