//! The distribution `special`, sysbench's default: three quarters of the numbers are drawn evenly from the middle
//! hundredth of the range, the others are the mean of twelve even draws over the whole range.
//!
//! Source: sysbench 1.0.20, `--rand-type=special` with `--rand-spec-iter=12 --rand-spec-pct=1 --rand-spec-res=75`.

use rand::Rng;

/// Draws that are averaged for a number of the whole range.
const ITERATIONS: u32 = 12;
/// Share of the range that the frequent numbers take, in its middle.
const FREQUENT_RANGE: f64 = 0.01;
/// Share of the numbers that are frequent ones.
const FREQUENT_SHARE: f64 = 0.75;

/// A number from `low` to `high`, both included.
pub fn special(random: &mut impl Rng, low: u32, high: u32) -> u32 {
    let span = f64::from(high - low);
    let draw: f64 = random.random();
    let offset = if draw < 1.0 - FREQUENT_SHARE {
        let sum: f64 = (0..ITERATIONS).map(|_| random.random::<f64>()).sum();
        sum / f64::from(ITERATIONS) * span
    } else {
        // The draw chooses the branch and the number, as in sysbench: the first quarter of the middle stays unused.
        let frequent = span * FREQUENT_RANGE;
        draw * (frequent + 1.0) + (span - frequent) / 2.0
    };
    low + (offset as u32).min(high - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::SmallRng};

    /// 100,000 numbers from 1 to 100,000, as `sysbench oltp_read_only --table-size=100000 prepare` draws them.
    fn drawn() -> Vec<u32> {
        let mut random = SmallRng::seed_from_u64(1);
        (0..100_000).map(|_| special(&mut random, 1, 100_000)).collect()
    }

    #[test]
    fn three_quarters_fall_into_the_middle_hundredth() {
        let middle = drawn().iter().filter(|k| (49_500..=50_501).contains(*k)).count();
        // And some of the others, which gather there too.
        assert!((75_000..77_500).contains(&middle), "{middle}");
    }

    #[test]
    fn the_others_spread_over_the_range() {
        let numbers = drawn();
        let far = numbers.iter().filter(|k| !(40_000..60_000).contains(*k)).count();
        assert!((4_000..8_000).contains(&far), "{far}");
        assert!(numbers.iter().all(|k| (1..=100_000).contains(k)));
    }

    #[test]
    fn a_range_of_one_number_has_that_number() {
        let mut random = SmallRng::seed_from_u64(1);
        assert!((0..1000).all(|_| special(&mut random, 7, 7) == 7));
    }
}
