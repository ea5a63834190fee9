//! In how many bits rows of signs differ from a query's: a portable oracle and what the machine has (AVX-512 VPOPCNTDQ, POPCNT, NEON),
//! all equal.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64 as arch;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as arch;

/// `out[r]` becomes the number of bits in which row r differs from the query; rows have the query's length and follow each other.
type Distances = fn(query: &[u64], rows: &[u64], out: &mut [u32]);

/// Words of a row of 256 components, as the static model's.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 4;

/// Words that are asked for ahead of the scan: rows of one small session after the other lie on pages of their own, where the
/// machine does not look ahead by itself.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 2048 / 8;

/// Asks for the memory there; an address of nothing does no harm.
#[inline]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and never faults.
    unsafe {
        arch::_mm_prefetch::<{ arch::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The distance of `query`, which has a word at least, to each of `rows`.
pub fn distances(query: &[u64], rows: &[u64], out: &mut [u32]) {
    debug_assert!(!query.is_empty() && rows.len() == query.len() * out.len());
    fastest(query.len())(query, rows, out);
}

/// Distances that are looked at together.
const BLOCK: usize = 16;

/// Adds the numbers of the rows whose distance is less than `bound` to `near`, rising; returns the largest distance.
pub fn nearer(distances: &[u32], bound: u32, near: &mut Vec<u32>) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn wide(distances: &[u32], bound: u32, near: &mut Vec<u32>) -> u32 {
            nearer_portable(distances, bound, near)
        }
        // SAFETY: AVX2 was detected.
        return unsafe { wide(distances, bound, near) };
    }
    nearer_portable(distances, bound, near)
}

#[inline]
fn nearer_portable(distances: &[u32], bound: u32, near: &mut Vec<u32>) -> u32 {
    let (blocks, rest) = distances.as_chunks::<BLOCK>();
    let mut most = [0; BLOCK];
    for (first, block) in (0_u32..).step_by(BLOCK).zip(blocks) {
        let mut any = false;
        for (most, distance) in most.iter_mut().zip(block) {
            *most = (*most).max(*distance);
            any |= *distance < bound;
        }
        if any {
            near.extend((first..).zip(block).filter(|(_, distance)| **distance < bound).map(|(row, _)| row));
        }
    }
    let first = (distances.len() - rest.len()) as u32;
    near.extend((first..).zip(rest).filter(|(_, distance)| **distance < bound).map(|(row, _)| row));
    most.into_iter().chain(rest.iter().copied()).max().unwrap_or(0)
}

/// Adds the numbers of the rows whose distance is at least `bound` to `far`, rising.
pub fn farther(distances: &[u32], bound: u32, far: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn wide(distances: &[u32], bound: u32, far: &mut Vec<u32>) {
            farther_portable(distances, bound, far);
        }
        // SAFETY: AVX2 was detected.
        return unsafe { wide(distances, bound, far) };
    }
    farther_portable(distances, bound, far);
}

#[inline]
fn farther_portable(distances: &[u32], bound: u32, far: &mut Vec<u32>) {
    for (first, block) in (0_u32..).step_by(BLOCK).zip(distances.chunks(BLOCK)) {
        if block.iter().fold(0, |most, distance| (*distance).max(most)) >= bound {
            far.extend((first..).zip(block).filter(|(_, distance)| **distance >= bound).map(|(row, _)| row));
        }
    }
}

/// As for the kernels of int8: the standard library keeps what it detected in an atomic.
fn fastest(words: usize) -> Distances {
    #[cfg(target_arch = "x86_64")]
    {
        if words == SHORT && has_vpopcntdq() {
            return distances_vpopcntdq;
        }
        if is_x86_feature_detected!("popcnt") {
            return distances_popcnt;
        }
    }
    #[cfg(target_arch = "aarch64")]
    if words.is_multiple_of(2) && std::arch::is_aarch64_feature_detected!("neon") {
        return distances_neon;
    }
    let _ = words;
    distances_portable
}

#[cfg(target_arch = "x86_64")]
fn has_vpopcntdq() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq")
}

#[inline]
fn distances_portable(query: &[u64], rows: &[u64], out: &mut [u32]) {
    for (row, slot) in rows.chunks_exact(query.len().max(1)).zip(out) {
        *slot = distance(query, row);
    }
}

#[inline]
fn distance(query: &[u64], row: &[u64]) -> u32 {
    query.iter().zip(row).map(|(a, b)| (a ^ b).count_ones()).sum()
}

#[cfg(target_arch = "x86_64")]
fn distances_popcnt(query: &[u64], rows: &[u64], out: &mut [u32]) {
    #[target_feature(enable = "popcnt")]
    fn scan(query: &[u64], rows: &[u64], out: &mut [u32]) {
        if let Ok(query) = <&[u64; SHORT]>::try_from(query) {
            let (rows, _) = rows.as_chunks::<SHORT>();
            for (row, slot) in rows.iter().zip(out) {
                *slot = distance(query, row);
            }
            return;
        }
        distances_portable(query, rows, out);
    }
    // SAFETY: chosen by `fastest` (and listed by the tests) only where POPCNT was detected.
    unsafe { scan(query, rows, out) }
}

/// Eight rows of four words at a time.
#[cfg(target_arch = "x86_64")]
fn distances_vpopcntdq(query: &[u64], rows: &[u64], out: &mut [u32]) {
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn scan(query: &[u64], rows: &[u64], out: &mut [u32]) {
        let [a, b, c, d] = *query else { return };
        let (pair, order) = (
            arch::_mm512_set_epi64(
                d.cast_signed(),
                c.cast_signed(),
                b.cast_signed(),
                a.cast_signed(),
                d.cast_signed(),
                c.cast_signed(),
                b.cast_signed(),
                a.cast_signed(),
            ),
            arch::_mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0),
        );
        let (blocks, rest) = rows.as_chunks::<{ 8 * SHORT }>();
        let (slots, slots_rest) = out.as_chunks_mut::<8>();
        for (block, slots) in blocks.iter().zip(slots) {
            let (quarters, _) = block.as_chunks::<8>();
            let mut found = arch::_mm512_setzero_si512();
            for (quarter, lanes) in quarters.iter().zip([0b0001_0001, 0b0010_0010, 0b0100_0100, 0b1000_1000]) {
                prefetch(quarter.as_ptr().wrapping_add(AHEAD));
                // SAFETY: a quarter is 64 bytes, and the load asks for no alignment.
                let two = unsafe { arch::_mm512_loadu_epi64(quarter.as_ptr().cast()) };
                let bits = arch::_mm512_popcnt_epi64(arch::_mm512_xor_si512(two, pair));
                // Each row's four counts become their sum, in all four lanes.
                let pairs = arch::_mm512_add_epi64(bits, arch::_mm512_permutex_epi64::<0b10_11_00_01>(bits));
                let sums = arch::_mm512_add_epi64(pairs, arch::_mm512_permutex_epi64::<0b01_00_11_10>(pairs));
                found = arch::_mm512_mask_mov_epi64(found, lanes, sums);
            }
            let counts = arch::_mm512_cvtepi64_epi32(arch::_mm512_permutexvar_epi64(order, found));
            // SAFETY: eight counts of 32 bits are 32 bytes, and the store asks for no alignment.
            unsafe { arch::_mm256_storeu_si256(slots.as_mut_ptr().cast(), counts) };
        }
        distances_portable(query, rest, slots_rest);
    }
    // SAFETY: chosen by `fastest` (and listed by the tests) only where these features were detected.
    unsafe { scan(query, rows, out) }
}

#[cfg(target_arch = "aarch64")]
fn distances_neon(query: &[u64], rows: &[u64], out: &mut [u32]) {
    #[target_feature(enable = "neon")]
    fn scan(query: &[u64], rows: &[u64], out: &mut [u32]) {
        let (query_pairs, _) = query.as_chunks::<2>();
        for (row, slot) in rows.chunks_exact(query.len().max(1)).zip(out) {
            let (pairs, _) = row.as_chunks::<2>();
            let mut sum = 0;
            for (a, b) in query_pairs.iter().zip(pairs) {
                // SAFETY: both are 16 bytes, and the load asks for no alignment.
                let (a, b) = unsafe { (arch::vld1q_u64(a.as_ptr()), arch::vld1q_u64(b.as_ptr())) };
                sum += u32::from(arch::vaddlvq_u8(arch::vcntq_u8(arch::vreinterpretq_u8_u64(arch::veorq_u64(a, b)))));
            }
            *slot = sum;
        }
    }
    // SAFETY: chosen by `fastest` (and listed by the tests) only where NEON was detected.
    unsafe { scan(query, rows, out) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every kernel this machine can run on rows of so many words.
    fn available(words: usize) -> Vec<(&'static str, Distances)> {
        let mut kernels: Vec<(&'static str, Distances)> =
            vec![("portable", distances_portable), ("fastest", fastest(words))];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("popcnt") {
                kernels.push(("popcnt", distances_popcnt));
            }
            if words == SHORT && has_vpopcntdq() {
                kernels.push(("vpopcntdq", distances_vpopcntdq));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if words.is_multiple_of(2) {
            kernels.push(("neon", distances_neon));
        }
        kernels
    }

    /// Bit by bit.
    fn textbook(query: &[u64], rows: &[u64]) -> Vec<u32> {
        let bit = |words: &[u64], at: usize| words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1);
        let differ = |row: &[u64]| (0..64 * query.len()).filter(|at| bit(query, *at) != bit(row, *at)).count() as u32;
        rows.chunks(query.len()).map(differ).collect()
    }

    proptest! {
        #[test]
        fn the_nearer_are_those_below_the_bound(distances in prop::collection::vec(0_u32..9, 0..90), bound in 0_u32..10) {
            let (mut near, mut portable) = (vec![7], vec![7]);
            let most = nearer(&distances, bound, &mut near);
            prop_assert_eq!(most, nearer_portable(&distances, bound, &mut portable));
            prop_assert_eq!(most, distances.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(&near, &portable);
            let below = (0..).zip(&distances).filter(|(_, distance)| **distance < bound).map(|(row, _)| row);
            prop_assert_eq!(near, std::iter::once(7).chain(below).collect::<Vec<u32>>());
        }

        #[test]
        fn the_farther_are_those_from_the_bound_on(distances in prop::collection::vec(0_u32..9, 0..90), bound in 0_u32..10) {
            let mut far = vec![7];
            farther(&distances, bound, &mut far);
            let others = (0..).zip(&distances).filter(|(_, distance)| **distance >= bound).map(|(row, _)| row);
            prop_assert_eq!(far, std::iter::once(7).chain(others).collect::<Vec<u32>>());
        }

        #[test]
        fn every_kernel_equals_the_textbook(
            (words, bits) in (1_usize..14).prop_flat_map(|words| (Just(words), prop::collection::vec(any::<u64>(), words * 20)))
        ) {
            let (query, rows) = bits.split_at(words);
            for count in [0, 1, 7, 8, 9, 19] {
                let rows = rows.get(..words * count).unwrap_or_default();
                for (name, kernel) in available(words) {
                    let mut out = vec![77; count];
                    kernel(query, rows, &mut out);
                    prop_assert_eq!(out, textbook(query, rows), "{} of {} words", name, words);
                }
            }
        }
    }
}
