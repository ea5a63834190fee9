//! How near is a vector to the query? Exact scans over int8 rows; no index, no threads, no policy.
pub mod hamming;
pub mod kernels;
pub mod quantise;
pub mod scan;
pub mod topk;
pub mod wide;
