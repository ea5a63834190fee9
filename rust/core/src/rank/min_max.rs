//! `mm`: values to 0..1.

/// Scales the finite values to 0..1, in place; all become 0 where they are equal. A value that is not finite (the cosine
/// of a memory without vectors) becomes 0 and does not widen the range.
pub fn min_max(values: &mut [f32]) {
    let (low, high) = range(values);
    let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
    for value in values {
        let scaled = (*value - low) * scale;
        *value = if value.is_finite() && scaled.is_finite() { scaled.clamp(0.0, 1.0) } else { 0.0 };
    }
}

/// Values looked at together.
const LANES: usize = 8;

/// The least and the largest finite value; an empty range (infinity, negative infinity) where there is none. Eight running pairs, so
/// that the comparisons do not wait for each other.
fn range(values: &[f32]) -> (f32, f32) {
    let (mut lows, mut highs) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
    for block in values.chunks(LANES) {
        for ((low, high), value) in lows.iter_mut().zip(&mut highs).zip(block) {
            let is_finite = value.is_finite();
            *low = if is_finite && *value < *low { *value } else { *low };
            *high = if is_finite && *value > *high { *value } else { *high };
        }
    }
    (lows.into_iter().fold(f32::INFINITY, f32::min), highs.into_iter().fold(f32::NEG_INFINITY, f32::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(values: &[f32]) -> Vec<f32> {
        let mut values = values.to_vec();
        min_max(&mut values);
        values
    }

    #[test]
    fn the_least_is_zero_and_the_largest_one() {
        assert_eq!(scaled(&[-1.0, 0.0, 3.0]), [0.0, 0.25, 1.0]);
    }

    #[test]
    fn equal_values_are_zero() {
        assert_eq!(scaled(&[7.0, 7.0]), [0.0, 0.0]);
        assert_eq!(scaled(&[7.0]), [0.0]);
        assert_eq!(scaled(&[]), [0.0; 0]);
    }

    #[test]
    fn what_is_missing_is_zero_and_outside_the_range() {
        assert_eq!(scaled(&[f32::NEG_INFINITY, 2.0, 4.0]), [0.0, 0.0, 1.0]);
        assert_eq!(scaled(&[f32::NEG_INFINITY, 2.0]), [0.0, 0.0]);
        assert_eq!(scaled(&[f32::NEG_INFINITY; 2]), [0.0, 0.0]);
    }
}
