//! Float vectors to int8 directions, and the exact cosine that checks them.
use super::kernels::{append_scaled, dot, largest_and_squares};

/// A direction: `codes[i] * scale` is near the i-th component of the unit vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    pub codes: Vec<i8>,
    pub scale: f32,
}

/// The direction of `v` as int8 with one scale. `None` for a vector without a direction: empty, zero or not finite.
#[must_use]
pub fn quantise_unit(v: &[f32]) -> Option<Quantised> {
    let mut codes = Vec::new();
    let scale = append_unit(v, &mut codes)?;
    Some(Quantised { codes, scale })
}

/// As [`quantise_unit`]: appends the codes, and returns their scale. Nothing is appended for a vector without a direction.
pub(super) fn append_unit(v: &[f32], codes: &mut Vec<i8>) -> Option<f32> {
    let (largest, squares) = largest_and_squares(v);
    let (largest, norm) = (f64::from(largest), squares.sqrt());
    if largest == 0.0 || !norm.is_finite() {
        return None;
    }
    append_scaled(v, 127.0 / largest, codes);
    Some((largest / norm / 127.0) as f32)
}

/// Whether every number is finite, and one is not zero.
#[must_use]
pub fn has_direction(v: &[f32]) -> bool {
    // Of numbers without their sign, the larger one has the larger bits; infinity and NaN have the largest.
    let most = v.iter().fold(0, |most, x| most.max(x.abs().to_bits()));
    most != 0 && most < f32::INFINITY.to_bits()
}

/// The exact cosine of two vectors of one length, accumulated in f64. 0 when either has no direction.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    debug_assert_eq!(a.len(), b.len(), "vectors of one model have one length");
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms > 0.0 && norms.is_finite() { (dot(a, b) / norms).clamp(-1.0, 1.0) as f32 } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vectors_without_a_direction_are_refused() {
        for v in [&[][..], &[0.0, 0.0], &[1.0, f32::NAN], &[f32::NAN, f32::NAN], &[f32::INFINITY, 1.0]] {
            assert_eq!(quantise_unit(v), None, "{v:?}");
            assert!(!has_direction(v), "{v:?}");
        }
    }

    #[test]
    fn the_largest_and_smallest_floats_have_a_direction() {
        for x in [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1)] {
            let q = quantise_unit(&[x, -x]).unwrap();
            assert!(has_direction(&[x]) && has_direction(&[-0.0, -x]));
            assert_eq!(q.codes, [127, -127]);
            assert!((q.scale * 127.0 - 0.5_f32.sqrt()).abs() < 1e-6);
        }
    }

    #[test]
    fn cosine_is_of_directions() {
        assert!((cosine(&[1.0, 0.0], &[5.0, 0.0]) - 1.0).abs() < 1e-7);
        assert!((cosine(&[1.0, 0.0], &[-5.0, 0.0]) + 1.0).abs() < 1e-7);
        assert!(cosine(&[1.0, 0.0], &[0.0, 2.0]).abs() < 1e-7);
        assert!(cosine(&[0.0, 0.0], &[0.0, 2.0]).abs() < 1e-7);
    }

    proptest! {
        #[test]
        fn codes_times_scale_are_the_unit_vector(v in prop::collection::vec(-1e3_f32..1e3, 1..70)) {
            prop_assume!(v.iter().any(|x| x.abs() > 1e-3));
            let norm = v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            let q = quantise_unit(&v).unwrap();
            for (code, x) in q.codes.iter().zip(&v) {
                let error = f64::from(*code) * f64::from(q.scale) - f64::from(*x) / norm;
                prop_assert!(error.abs() <= f64::from(q.scale) * 0.5001);
            }
        }

        #[test]
        fn cosine_is_that_of_the_textbook(pair in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..70)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pair.into_iter().unzip();
            let plain = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(x * y)).sum::<f64>();
            let norms = (plain(&a, &a) * plain(&b, &b)).sqrt();
            prop_assume!(norms > 1e-6);
            prop_assert!((f64::from(cosine(&a, &b)) - plain(&a, &b) / norms).abs() < 1e-4);
        }
    }
}
