//! Latencies in buckets whose width grows with their value, as in Tene's HdrHistogram: 64 buckets of equal width
//! between a power of two and the next, so that a value is known to 1.6 %.

use serde::Serialize;
use std::time::Duration;

/// Bits of a value that its bucket keeps, beside the leading one.
const PRECISION_BITS: u32 = 6;
/// Values of one microsecond apart have buckets of their own up to here.
const EXACT: u64 = 1 << PRECISION_BITS;
/// Powers of two above [`EXACT`]: up to 2^42 microseconds, 50 days.
const POWERS: u64 = 36;
const BUCKETS: usize = ((POWERS + 1) * EXACT) as usize;

/// Counts of latencies, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
    sum: u64,
}

/// Latencies in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencySummary {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], total: 0, max: 0, sum: 0 }
    }
}

impl Histogram {
    pub fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.counts[bucket_of(micros)] += 1;
        self.total += 1;
        self.sum += micros;
        self.max = self.max.max(micros);
    }

    pub fn add(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// The latency in microseconds that this share of all (0 to 1) does not exceed, to the precision of buckets.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = ((share * self.total as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return highest_of(bucket).min(self.max);
            }
        }
        self.max
    }

    /// All zero if nothing was recorded.
    pub fn summary(&self) -> LatencySummary {
        let ms = |micros: u64| micros as f64 / 1e3;
        LatencySummary {
            mean: ms(self.sum) / self.total.max(1) as f64,
            p50: ms(self.quantile(0.50)),
            p95: ms(self.quantile(0.95)),
            p99: ms(self.quantile(0.99)),
            max: ms(self.max),
        }
    }

    /// Buckets that are not empty: their highest value in milliseconds, and their count.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (highest_of(bucket) as f64 / 1e3, *count))
    }
}

fn bucket_of(micros: u64) -> usize {
    if micros < EXACT {
        return micros as usize;
    }
    let power = u64::from(63 - micros.leading_zeros() - PRECISION_BITS);
    let within = (micros >> power) - EXACT;
    (((power + 1) * EXACT + within) as usize).min(BUCKETS - 1)
}

/// The highest value of a bucket.
fn highest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let (power, within) = (bucket / EXACT - 1, bucket % EXACT);
    ((EXACT + within + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values_to_their_precision() {
        let mut value = 1u64;
        while value < 1 << 42 {
            let highest = highest_of(bucket_of(value));
            assert!(highest >= value && (highest - value) as f64 <= value as f64 / 64.0, "{value} {highest}");
            value += value / 50 + 1;
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(highest_of(bucket)), bucket);
        }
    }

    #[test]
    fn quantiles_are_ranks() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.summary().p99, 0.0);
        for micros in 1..=50 {
            histogram.record(Duration::from_micros(micros));
        }
        assert_eq!((histogram.quantile(0.5), histogram.quantile(0.98), histogram.quantile(1.0)), (25, 49, 50));
        let mut both = histogram.clone();
        both.add(&histogram);
        assert_eq!((both.total(), both.quantile(0.5)), (100, 25));
        assert_eq!(both.buckets().map(|(_, n)| n).sum::<u64>(), 100);
    }
}
