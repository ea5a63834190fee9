//! int8 dot products and rounding to int8: a scalar oracle and what the machine has (AVX-512 VNNI, AVX2, NEON), all equal to the bit.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64 as arch;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as arch;

/// The longest rows whose dot product always fits an `i32` (128 * 128 * this < 2^31).
pub const LONGEST: usize = 131_071;

/// `out[r]` becomes the dot product of the query with row r; rows have the query's length and follow each other.
type Dots = fn(query: &[i8], rows: &[i8], out: &mut [i32]);

/// The dot product of `query` with each of `rows`, for queries of 1 to [`LONGEST`] components.
pub fn dots(query: &[i8], rows: &[i8], out: &mut [i32]) {
    debug_assert!(!query.is_empty() && query.len() <= LONGEST && rows.len() == query.len() * out.len());
    fastest()(query, rows, out);
}

/// The dot product without a limit of length, for rows beyond [`LONGEST`].
#[must_use]
pub fn wide_dot(a: &[i8], b: &[i8]) -> i64 {
    a.iter().zip(b).map(|(x, y)| i64::from(i32::from(*x) * i32::from(*y))).sum()
}

/// Appends each value times `factor`, rounded half away from zero. The products lie between -127.5 and 127.5; what becomes of others
/// depends on the machine.
pub fn append_scaled(values: &[f32], factor: f64, out: &mut Vec<i8>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        return append_scaled_avx2(values, factor, out);
    }
    append_scaled_scalar(values, factor, out);
}

/// By adding and cutting off: `round` is a call for each number where the machine's own is not known.
fn append_scaled_scalar(values: &[f32], factor: f64, out: &mut Vec<i8>) {
    let rounded = |x: f64| (x + 0.5_f64.copysign(x)) as i32 as i8;
    out.extend(values.iter().map(|x| rounded(f64::from(*x) * factor)));
}

#[cfg(target_arch = "x86_64")]
fn append_scaled_avx2(values: &[f32], factor: f64, out: &mut Vec<i8>) {
    #[target_feature(enable = "avx2")]
    fn append(values: &[f32], factor: f64, out: &mut Vec<i8>) {
        let (blocks, rest) = values.as_chunks::<16>();
        out.reserve(values.len());
        for block in blocks {
            out.extend_from_slice(&scaled_avx2(block, factor));
        }
        append_scaled_scalar(rest, factor, out);
    }
    // SAFETY: chosen by `append_scaled` (and called by the tests) only where AVX2 was detected.
    unsafe { append(values, factor, out) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn scaled_avx2(values: &[f32; 16], factor: f64) -> [i8; 16] {
    let (factor, half) = (arch::_mm256_set1_pd(factor), arch::_mm256_set1_pd(0.5));
    let sign = arch::_mm256_set1_pd(-0.0);
    let four = |at: usize| {
        // SAFETY: `at` is 0, 4, 8 or 12, so four floats are there, and the load asks for no alignment.
        let floats = unsafe { arch::_mm_loadu_ps(values.as_ptr().add(at)) };
        let product = arch::_mm256_mul_pd(arch::_mm256_cvtps_pd(floats), factor);
        let away = arch::_mm256_or_pd(half, arch::_mm256_and_pd(sign, product));
        arch::_mm256_cvttpd_epi32(arch::_mm256_add_pd(product, away))
    };
    let low = arch::_mm_packs_epi32(four(0), four(4));
    let high = arch::_mm_packs_epi32(four(8), four(12));
    let mut codes = [0_i8; 16];
    // SAFETY: 16 bytes are there, and the store asks for no alignment.
    unsafe { arch::_mm_storeu_si128(codes.as_mut_ptr().cast(), arch::_mm_packs_epi16(low, high)) };
    codes
}

/// The largest of the values without their signs, NaN left out, and the sum of their squares.
pub fn largest_and_squares(values: &[f32]) -> (f32, f64) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        return largest_and_squares_avx2(values);
    }
    (largest(values), dot(values, values))
}

/// The same, compiled for more numbers at a time.
#[cfg(target_arch = "x86_64")]
fn largest_and_squares_avx2(values: &[f32]) -> (f32, f64) {
    #[target_feature(enable = "avx2")]
    fn both(values: &[f32]) -> (f32, f64) {
        (largest(values), dot(values, values))
    }
    // SAFETY: chosen by `largest_and_squares` (and called by the tests) only where AVX2 was detected.
    unsafe { both(values) }
}

/// Eight at a time: the order does not matter.
#[expect(clippy::inline_always, reason = "compiled anew with the instructions that its caller may use")]
#[inline(always)]
fn largest(values: &[f32]) -> f32 {
    let (blocks, rest) = values.as_chunks::<8>();
    let mut most = [0.0_f32; 8];
    for block in blocks {
        for (most, x) in most.iter_mut().zip(block) {
            let size = x.abs();
            // Not `max`, which looks at both for NaN.
            *most = if size > *most { size } else { *most };
        }
    }
    most.iter().chain(rest).fold(0.0, |most, x| most.max(x.abs()))
}

/// Eight running sums, so that the additions do not wait for each other: the same ones whatever the machine.
#[expect(clippy::inline_always, reason = "compiled anew with the instructions that its caller may use")]
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0_f64; 8];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += f64::from(*x) * f64::from(*y);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    sums.iter().sum::<f64>() + rest
}

/// The standard library detects once and keeps the answer in an atomic: no lock that a fork could leave held.
fn fastest() -> Dots {
    #[cfg(target_arch = "x86_64")]
    {
        if has_vnni() {
            return dots_vnni;
        }
        if is_x86_feature_detected!("avx2") {
            return dots_avx2;
        }
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("neon") {
        return dots_neon;
    }
    dots_scalar
}

#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni")
}

fn dots_scalar(query: &[i8], rows: &[i8], out: &mut [i32]) {
    for (row, slot) in rows.chunks_exact(query.len().max(1)).zip(out) {
        *slot = dot_scalar(query, row);
    }
}

fn dot_scalar(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}

#[cfg(target_arch = "x86_64")]
fn dots_avx2(query: &[i8], rows: &[i8], out: &mut [i32]) {
    #[target_feature(enable = "avx2")]
    fn scan(query: &[i8], rows: &[i8], out: &mut [i32]) {
        for (row, slot) in rows.chunks_exact(query.len().max(1)).zip(out) {
            *slot = dot_avx2(query, row);
        }
    }
    // SAFETY: chosen by `fastest` (and listed by the tests) only where AVX2 was detected.
    unsafe { scan(query, rows, out) }
}

/// Widened to 16 bits, where two products of -128 by -128 still fit the 32 bits they are added in.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn dot_avx2(a: &[i8], b: &[i8]) -> i32 {
    let (a_blocks, a_rest) = a.as_chunks::<16>();
    let (b_blocks, b_rest) = b.as_chunks::<16>();
    let mut sum = arch::_mm256_setzero_si256();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        // SAFETY: both blocks are 16 bytes, and the load asks for no alignment.
        let (x, y) = unsafe { (arch::_mm_loadu_si128(x.as_ptr().cast()), arch::_mm_loadu_si128(y.as_ptr().cast())) };
        let products = arch::_mm256_madd_epi16(arch::_mm256_cvtepi8_epi16(x), arch::_mm256_cvtepi8_epi16(y));
        sum = arch::_mm256_add_epi32(sum, products);
    }
    let half = arch::_mm_add_epi32(arch::_mm256_castsi256_si128(sum), arch::_mm256_extracti128_si256::<1>(sum));
    let pair = arch::_mm_add_epi32(half, arch::_mm_shuffle_epi32::<0b00_00_11_10>(half));
    let one = arch::_mm_add_epi32(pair, arch::_mm_shuffle_epi32::<0b00_00_00_01>(pair));
    arch::_mm_cvtsi128_si32(one) + dot_scalar(a_rest, b_rest)
}

/// VNNI multiplies unsigned by signed, so each row is shifted by 128 and 128 times the query's sum is taken off
/// again. Intermediate sums may wrap; the result is exact modulo 2^32 and fits.
#[cfg(target_arch = "x86_64")]
fn dots_vnni(query: &[i8], rows: &[i8], out: &mut [i32]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn scan(query: &[i8], rows: &[i8], out: &mut [i32]) {
        let shift = query.iter().map(|x| i32::from(*x)).sum::<i32>().wrapping_mul(128);
        for (row, slot) in rows.chunks_exact(query.len().max(1)).zip(out) {
            *slot = shifted_dot_vnni(query, row).wrapping_sub(shift);
        }
    }
    // SAFETY: chosen by `fastest` (and listed by the tests) only where these features were detected.
    unsafe { scan(query, rows, out) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn shifted_dot_vnni(query: &[i8], row: &[i8]) -> i32 {
    let (q_blocks, q_rest) = query.as_chunks::<64>();
    let (r_blocks, r_rest) = row.as_chunks::<64>();
    let flip = arch::_mm512_set1_epi8(-128);
    let mut sum = arch::_mm512_setzero_si512();
    for (q, r) in q_blocks.iter().zip(r_blocks) {
        // SAFETY: both blocks are 64 bytes, and the load asks for no alignment.
        let (q, r) = unsafe { (arch::_mm512_loadu_epi8(q.as_ptr()), arch::_mm512_loadu_epi8(r.as_ptr())) };
        sum = arch::_mm512_dpbusd_epi32(sum, arch::_mm512_xor_si512(r, flip), q);
    }
    if !q_rest.is_empty() {
        let mask = (1_u64 << q_rest.len().min(r_rest.len())) - 1;
        // SAFETY: the mask admits as many bytes as the shorter rest has; what it leaves out is not read.
        let (q, r) = unsafe {
            (arch::_mm512_maskz_loadu_epi8(mask, q_rest.as_ptr()), arch::_mm512_maskz_loadu_epi8(mask, r_rest.as_ptr()))
        };
        sum = arch::_mm512_dpbusd_epi32(sum, arch::_mm512_xor_si512(r, flip), q);
    }
    arch::_mm512_reduce_add_epi32(sum)
}

#[cfg(target_arch = "aarch64")]
fn dots_neon(query: &[i8], rows: &[i8], out: &mut [i32]) {
    #[target_feature(enable = "neon")]
    fn scan(query: &[i8], rows: &[i8], out: &mut [i32]) {
        for (row, slot) in rows.chunks_exact(query.len().max(1)).zip(out) {
            *slot = dot_neon(query, row);
        }
    }
    // SAFETY: chosen by `fastest` (and listed by the tests) only where NEON was detected.
    unsafe { scan(query, rows, out) }
}

/// One product of -128 by -128 fits 16 bits; pairs are added in 32.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
#[inline]
fn dot_neon(a: &[i8], b: &[i8]) -> i32 {
    let (a_blocks, a_rest) = a.as_chunks::<16>();
    let (b_blocks, b_rest) = b.as_chunks::<16>();
    let mut sum = arch::vdupq_n_s32(0);
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        // SAFETY: both blocks are 16 bytes, and the load asks for no alignment.
        let (x, y) = unsafe { (arch::vld1q_s8(x.as_ptr()), arch::vld1q_s8(y.as_ptr())) };
        sum = arch::vpadalq_s16(sum, arch::vmull_s8(arch::vget_low_s8(x), arch::vget_low_s8(y)));
        sum = arch::vpadalq_s16(sum, arch::vmull_high_s8(x, y));
    }
    arch::vaddvq_s32(sum) + dot_scalar(a_rest, b_rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every kernel this machine can run.
    fn available() -> Vec<(&'static str, Dots)> {
        let mut kernels: Vec<(&'static str, Dots)> = vec![("scalar", dots_scalar), ("fastest", fastest())];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                kernels.push(("avx2", dots_avx2));
            }
            if has_vnni() {
                kernels.push(("vnni", dots_vnni));
            }
        }
        #[cfg(target_arch = "aarch64")]
        kernels.push(("neon", dots_neon));
        kernels
    }

    fn textbook(query: &[i8], rows: &[i8]) -> Vec<i32> {
        rows.chunks(query.len()).map(|row| wide_dot(query, row) as i32).collect()
    }

    #[test]
    fn extreme_codes_are_exact_at_every_length() {
        for length in (1..200).chain([256, 384, 768, 1024, 4097, LONGEST]) {
            for (a, b) in [(-128, -128), (-128, 127), (127, 127), (127, -128)] {
                let (query, rows) = (vec![a; length], vec![b; length]);
                let expected = [length as i32 * i32::from(a) * i32::from(b)];
                for (name, kernel) in available() {
                    let mut out = [0];
                    kernel(&query, &rows, &mut out);
                    assert_eq!(out, expected, "{name}, {length} times {a} by {b}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn codes_are_rounded_half_away_from_zero(mut values in prop::collection::vec(-1_f32..=1.0, 1..70), halves in prop::collection::vec(-254_i32..=254, 0..70)) {
            let factor = 127.0;
            values.extend(halves.iter().map(|half| *half as f32 / 254.0));
            let expected: Vec<i8> = values.iter().map(|x| (f64::from(*x) * factor).round() as i8).collect();
            for append in [append_scaled_scalar, append_scaled] {
                let mut codes = vec![3];
                append(&values, factor, &mut codes);
                prop_assert_eq!(codes.split_off(1), expected.clone());
                prop_assert_eq!(codes, [3]);
            }
        }

        #[test]
        fn largest_and_squares_are_the_same_to_the_bit_on_every_machine(mut values in prop::collection::vec(prop::num::f32::ANY, 0..70)) {
            for finite in [false, true] {
                if finite {
                    values.retain(|x| x.is_finite());
                }
                let plain = values.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                let (most, squares) = largest_and_squares(&values);
                prop_assert_eq!(most.to_bits(), plain.to_bits());
                prop_assert_eq!(largest(&values).to_bits(), plain.to_bits());
                let expected = dot(&values, &values);
                prop_assert!(squares.to_bits() == expected.to_bits() || (squares.is_nan() && expected.is_nan()));
            }
        }

        #[test]
        fn every_kernel_equals_the_textbook(
            (length, codes) in (1_usize..200).prop_flat_map(|length| {
                (Just(length), prop::collection::vec(any::<i8>(), length * 4))
            })
        ) {
            let (query, rows) = codes.split_at(length);
            for (name, kernel) in available() {
                let mut out = [0; 3];
                kernel(query, rows, &mut out);
                prop_assert_eq!(out.to_vec(), textbook(query, rows), "{}", name);
            }
        }
    }
}
