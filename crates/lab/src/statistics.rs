//! Minimum, median and spread of repeated measurements.

use serde::Serialize;

/// Times of one thing done several times.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    values: Vec<f64>,
}

/// A sample in four numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub min: f64,
    pub median: f64,
    /// Coefficient of variation: standard deviation over mean; 0 for a single value.
    pub cov: f64,
    pub runs: usize,
}

impl Summary {
    /// Of no values.
    pub const NOTHING: Summary = Summary { min: 0.0, median: 0.0, cov: 0.0, runs: 0 };
}

impl Sample {
    pub fn add(&mut self, value: f64) {
        self.values.push(value);
    }

    /// All zero for an empty sample.
    pub fn summary(&self) -> Summary {
        let runs = self.values.len();
        if runs == 0 {
            return Summary::NOTHING;
        }
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let median = (sorted[(runs - 1) / 2] + sorted[runs / 2]) / 2.0;
        let mean = sorted.iter().sum::<f64>() / runs as f64;
        let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
        let cov = if runs > 1 && mean > 0.0 { (squares / (runs - 1) as f64).sqrt() / mean } else { 0.0 };
        Summary { min: sorted[0], median, cov, runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> Summary {
        let mut sample = Sample::default();
        values.iter().for_each(|v| sample.add(*v));
        sample.summary()
    }

    #[test]
    fn by_hand() {
        assert_eq!(summary(&[]).runs, 0);
        assert_eq!(summary(&[3.0]), Summary { min: 3.0, median: 3.0, cov: 0.0, runs: 1 });
        // Mean 4, squares 4 + 0 + 4, variance 4.
        assert_eq!(summary(&[6.0, 2.0, 4.0]), Summary { min: 2.0, median: 4.0, cov: 0.5, runs: 3 });
        assert_eq!(summary(&[1.0, 2.0, 3.0, 10.0]).median, 2.5);
    }
}
