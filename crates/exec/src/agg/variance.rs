//! Variances and standard deviations, by Welford's method; what partitions have is put together by Chan's.

use super::fold::counts;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, UInt64Array, cast::AsArray, types::*};
use datafusion_common::Result;
use datafusion_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// Variance or standard deviation of `Float64` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spread {
    /// True for a sample: the sum of squares is divided by one less than the number of values.
    pub sample: bool,
    /// The square root of the variance.
    pub deviation: bool,
}

impl Spread {
    /// The variance or deviation of values with these moments; `None` for too few values.
    pub fn of(self, moments: &Moments) -> Option<f64> {
        let divisor = moments.count.saturating_sub(self.sample.into());
        let variance = moments.squares / divisor as f64;
        (divisor > 0).then(|| if self.deviation { variance.sqrt() } else { variance })
    }
}

/// The moments of a group's values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of the squares of distances from the mean.
    squares: f64,
}

impl Moments {
    /// The moments of one value more.
    pub fn add(self, value: f64) -> Moments {
        let count = self.count + 1;
        let before = value - self.mean;
        let mean = before / count as f64 + self.mean;
        Moments { count, mean, squares: self.squares + before * (value - mean) }
    }

    fn merge(self, other: Moments) -> Moments {
        if other.count == 0 {
            return self;
        }
        let count = self.count + other.count;
        let (n, a, b) = (count as f64, self.count as f64, other.count as f64);
        let distance = self.mean - other.mean;
        Moments {
            count,
            mean: self.mean * a / n + other.mean * b / n,
            squares: self.squares + other.squares + distance * distance * a * b / n,
        }
    }
}

/// Variances of groups.
pub struct Variance {
    spread: Spread,
    groups: Vec<Moments>,
}

impl Variance {
    pub fn new(spread: Spread) -> Variance {
        Variance { spread, groups: Vec::new() }
    }
}

fn states(moments: &[Moments]) -> Vec<ArrayRef> {
    vec![
        Arc::new(UInt64Array::from_iter_values(moments.iter().map(|m| m.count))),
        Arc::new(Float64Array::from_iter_values(moments.iter().map(|m| m.mean))),
        Arc::new(Float64Array::from_iter_values(moments.iter().map(|m| m.squares))),
    ]
}

impl GroupsAccumulator for Variance {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups.resize(total, Moments::default());
        let values = values[0].as_primitive::<Float64Type>();
        for (row, group) in groups.iter().enumerate() {
            if counts(values, filter, row) {
                self.groups[*group] = self.groups[*group].add(values.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        Ok(Arc::new(groups.iter().map(|moments| self.spread.of(moments)).collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(states(&emit_to.take_needed(&mut self.groups)))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups.resize(total, Moments::default());
        let counts = values[0].as_primitive::<UInt64Type>().values();
        let (means, squares) = (values[1].as_primitive::<Float64Type>(), values[2].as_primitive::<Float64Type>());
        for (row, group) in groups.iter().enumerate() {
            let part = Moments { count: counts[row], mean: means.value(row), squares: squares.value(row) };
            self.groups[*group] = self.groups[*group].merge(part);
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<Float64Type>();
        let each = (0..values.len()).map(|row| match counts(values, filter, row) {
            true => Moments::default().add(values.value(row)),
            false => Moments::default(),
        });
        Ok(states(&each.collect::<Vec<_>>()))
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Moments>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variances_of_parts_are_those_of_the_whole() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(2.0), Some(4.0), None, Some(9.0), Some(1.0)]));
        let groups = [0, 0, 0, 0, 1];
        for (sample, deviation, want) in [
            (false, false, [Some(26.0 / 3.0), Some(0.0)]),
            (true, false, [Some(13.0), None]),
            (true, true, [Some(13f64.sqrt()), None]),
        ] {
            let variance = || Variance::new(Spread { sample, deviation });
            let (mut whole, mut merged) = (variance(), variance());
            whole.update_batch(std::slice::from_ref(&values), &groups, None, 2).unwrap();
            let each = whole.convert_to_state(std::slice::from_ref(&values), None).unwrap();
            merged.merge_batch(&each, &groups, 2).unwrap();
            for variance in [&mut whole, &mut merged] {
                let result = variance.evaluate(EmitTo::All).unwrap();
                for (got, want) in result.as_primitive::<Float64Type>().iter().zip(want) {
                    assert_eq!(got.is_some(), want.is_some());
                    assert!(got.zip(want).is_none_or(|(got, want)| (got - want).abs() < 1e-12), "{got:?} {want:?}");
                }
            }
        }
    }
}
