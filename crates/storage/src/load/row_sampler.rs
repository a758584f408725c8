//! Some rows of a table as they go by, for the stored sample: one at random of each stretch of equal length. Where
//! there are twice as many as wanted, stretches become twice as long, and one row of two neighbours is kept. So the
//! rows are spread evenly over the table, in its order, and no period of the data can fall in with them.

use super::{hyper_log_log::hash_u64, statistics::cut};
use muster_types::{SqlType, Value, distribution::RowSample};

/// Rows of a sample, at most.
pub(super) const SAMPLE_ROWS: usize = 2000;
/// Most bytes of a text in a sample.
const TEXT_BYTES_MAX: usize = 256;

/// One row: for each column its value; `None` for one that was not read.
type Row = Vec<Option<Value>>;

pub(super) struct RowSampler {
    kept: Vec<Row>,
    /// Rows of a stretch.
    stretch: u64,
    seen: u64,
    /// Number of the row that is kept of the stretch under way.
    picked: u64,
    random: u64,
}

impl RowSampler {
    pub fn new() -> RowSampler {
        RowSampler { kept: Vec::new(), stretch: 1, seen: 0, picked: 0, random: 0 }
    }

    /// Goes on by so many rows; `row` is asked for the values of those that are kept, by their position among these.
    pub fn pass(&mut self, rows: usize, mut row: impl FnMut(usize) -> Row) {
        let end = self.seen + rows as u64;
        while self.picked < end {
            let position = (self.picked - self.seen) as usize;
            self.kept
                .push(row(position).into_iter().map(|value| value.map(|value| cut(value, TEXT_BYTES_MAX))).collect());
            let mut next = (self.picked / self.stretch + 1) * self.stretch;
            if self.kept.len() >= 2 * SAMPLE_ROWS {
                self.thin();
                next = next.next_multiple_of(self.stretch);
            }
            self.picked = next + self.random(self.stretch);
        }
        self.seen = end;
    }

    /// Keeps one row of two neighbours.
    fn thin(&mut self) {
        self.stretch *= 2;
        let mut at = 0;
        let coins: Vec<u64> = (0..self.kept.len() / 2).map(|_| self.random(2)).collect();
        self.kept.retain(|_| {
            let keeps = coins.get(at / 2).is_some_and(|coin| *coin == (at % 2) as u64);
            at += 1;
            keeps
        });
    }

    /// A number below a bound.
    fn random(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        hash_u64(self.random) % bound.max(1)
    }

    /// The sample of a table of so many rows, of which those that went by are all or some.
    pub fn finish(mut self, types: &[SqlType], of_rows: u64) -> RowSample {
        let mut left = self.kept.len();
        let mut wanted = SAMPLE_ROWS.min(left);
        let mut kept = std::mem::take(&mut self.kept);
        // Each set of so many rows is as likely as any other (Knuth, The Art of Computer Programming, 3.4.2, S).
        kept.retain(|_| {
            let keeps = self.random(left as u64) < wanted as u64;
            left -= 1;
            wanted -= usize::from(keeps);
            keeps
        });
        RowSample::new(kept, types, of_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(rows: i64, batch: usize) -> RowSample {
        let mut sampler = RowSampler::new();
        let mut at = 0;
        while at < rows {
            let n = (rows - at).min(batch as i64);
            sampler.pass(n as usize, |i| vec![Some(Value::Int(at + i as i64)), Some(Value::Int((at + i as i64) % 4))]);
            at += n;
        }
        sampler.finish(&[SqlType::INT, SqlType::INT], rows as u64)
    }

    #[test]
    fn rows_are_spread_over_the_table_and_its_periods() {
        for (rows, batch) in [(3000, 700), (100_000, 8192), (1_000_003, 8192)] {
            let sample = sampled(rows, batch);
            assert_eq!(sample.rows(), SAMPLE_ROWS);
            let numbers = &sample.column(0).unwrap().values;
            for quarter in 0..4 {
                let bounds = rows * quarter / 4..rows * (quarter + 1) / 4;
                let inside = numbers.iter().filter(|v| matches!(v, Value::Int(i) if bounds.contains(i))).count();
                assert!(inside.abs_diff(SAMPLE_ROWS / 4) < 60, "{inside} rows of quarter {quarter} of {rows}");
            }
            let counts = sample.column(1).unwrap().counts();
            assert!(counts.iter().all(|n| n.abs_diff(500) < 100), "of a period of four: {counts:?}");
        }
    }

    #[test]
    fn a_small_table_is_its_own_sample() {
        let sample = sampled(1999, 100);
        assert!(sample.is_whole());
        assert_eq!(sample.column(0).unwrap().values.len(), 1999);
        assert!(!sampled(2001, 100).is_whole());
        assert_eq!(sampled(0, 1).rows(), 0);
    }
}
