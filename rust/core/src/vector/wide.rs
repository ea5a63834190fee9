//! Plain loops, with the widest registers that there are.
#![allow(unsafe_code)]

/// Runs what the compiler is to turn into instructions of AVX2 where the machine has them. The results are the same to the bit.
#[inline]
pub fn widely<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn wide<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        // SAFETY: AVX2 was detected.
        return unsafe { wide(work) };
    }
    work()
}
