//! How age fades a memory and what was said about it.

const MICROSECONDS_A_DAY: f64 = 86_400e6;

/// `0.5^(age / half_life)`; what comes from the future is new, not newer than new.
#[must_use]
pub fn recency(age_us: i64, half_life_days: f64) -> f64 {
    (-(age_us.max(0) as f64) / (half_life_days * MICROSECONDS_A_DAY)).exp2()
}

/// The sum of `sign * 0.5^(age / half_life)` over (sign, time); an outcome from the future counts in full.
#[must_use]
pub fn feedback_score(outcomes: &[(i8, i64)], now: i64, half_life_days: f64) -> f64 {
    let faded = |(sign, ts): &(i8, i64)| f64::from(*sign) * recency(now.saturating_sub(*ts), half_life_days);
    outcomes.iter().map(faded).fold(0.0, |sum, one| sum + one) // the sum of nothing is -0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_half_life_halves() {
        assert!(near(recency(0, 7.0), 1.0));
        assert!(near(recency(7 * DAY, 7.0), 0.5));
        assert!(near(recency(21 * DAY, 7.0), 0.125));
    }

    #[test]
    fn the_future_is_new_and_the_far_past_is_zero() {
        assert!(near(recency(i64::MIN, 7.0), 1.0));
        assert!(near(recency(i64::MAX, 7.0), 0.0));
        assert!(near(recency(i64::MAX, f64::INFINITY), 1.0));
    }

    #[test]
    fn outcomes_fade_and_cancel() {
        let now = 100 * DAY;
        assert!(feedback_score(&[], now, 30.0).is_sign_positive());
        assert!(near(feedback_score(&[(1, now), (-1, now)], now, 30.0), 0.0));
        assert!(near(feedback_score(&[(1, now - 30 * DAY), (1, now + DAY)], now, 30.0), 1.5));
        assert!(near(feedback_score(&[(-1, i64::MIN)], i64::MAX, 30.0), 0.0));
    }
}
