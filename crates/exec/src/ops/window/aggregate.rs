//! Aggregates over frames. Within a partition both ends of frames only move forward.

use super::{blocks::Block, without_negative_zero};
use crate::ops::reschedule::reschedule;
use crate::{
    agg::{BitOp, Kind, Moments},
    expr::{Physical, decimal256::widest_of},
};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, Decimal128Array, Decimal256Array, Float64Array, Int64Array, UInt64Array,
    cast::AsArray, new_null_array, types::*,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use arrow_select::{concat::concat, take::take};
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use std::{collections::VecDeque, ops::Range, sync::Arc};

/// Values that are taken one by one between two pauses, in which other statements run.
const STEPS_BETWEEN_PAUSES: usize = 1 << 20;

/// An aggregate with its argument.
pub struct Aggregated {
    pub kind: Kind,
    pub argument: Physical,
    /// The values by which MIN and MAX compare, if they are not those of the argument.
    pub order: Option<Physical>,
}

impl Aggregated {
    /// The result of each frame.
    pub(super) async fn results(&self, block: &Block, frames: &[Range<usize>]) -> Result<ArrayRef> {
        let rows = block.rows.num_rows();
        let values = self.argument.evaluate(&block.rows)?.into_array(rows)?;
        Ok(match &self.kind {
            Kind::CountRows => Arc::new(Int64Array::from_iter_values(frames.iter().map(|f| f.len() as i64))),
            Kind::Count => {
                // An array of the type NULL has no null buffer of its own.
                let counts = Counts::of(values.logical_nulls().as_ref(), rows);
                Arc::new(Int64Array::from_iter_values(frames.iter().map(|frame| counts.within(frame) as i64)))
            }
            Kind::ExactSum(ty) => exact_sums(&values, frames, ty)?,
            Kind::Extreme { largest, .. } | Kind::CollatedExtreme { largest, .. } => {
                let order = match &self.order {
                    Some(order) => order.evaluate(&block.rows)?.into_array(rows)?,
                    None => values.clone(),
                };
                take(&values, &extremes(&order, frames, *largest)?, None)?
            }
            Kind::DoubleSum => {
                let values = values.as_primitive::<Float64Type>();
                // The sum of nothing but -0 is 0.
                let add = |sum: &mut Option<f64>, row| *sum = Some(sum.unwrap_or(0.0) + values.value(row));
                let sums = folded(frames, values.nulls(), None, add, |sum| *sum).await;
                Arc::new(Float64Array::from(sums))
            }
            Kind::Spread(spread) => {
                let values = values.as_primitive::<Float64Type>();
                let add = |moments: &mut Moments, row| *moments = moments.add(values.value(row));
                let finish = |moments: &Moments| spread.of(moments);
                let results = folded(frames, values.nulls(), Moments::default(), add, finish).await;
                Arc::new(Float64Array::from(results))
            }
            Kind::Bits(op) => {
                let values = values.as_primitive::<UInt64Type>();
                let add = |bits: &mut Option<u64>, row| *bits = Some(combined(*op, *bits, values.value(row)));
                Arc::new(UInt64Array::from(folded(frames, values.nulls(), None, add, |bits| *bits).await))
            }
            other => by_frame(other, &values, frames).await?,
        })
    }
}

fn combined(op: BitOp, bits: Option<u64>, value: u64) -> u64 {
    match (op, bits) {
        (_, None) => value,
        (BitOp::And, Some(bits)) => bits & value,
        (BitOp::Or, Some(bits)) => bits | value,
        (BitOp::Xor, Some(bits)) => bits ^ value,
    }
}

/// How many values before each row are not NULL.
struct Counts(Option<Vec<usize>>);

impl Counts {
    fn of(nulls: Option<&NullBuffer>, rows: usize) -> Counts {
        Counts(nulls.map(|nulls| {
            let mut count = 0;
            let each = (0..rows).map(|row| {
                count += usize::from(nulls.is_valid(row));
                count
            });
            std::iter::once(0).chain(each).collect()
        }))
    }

    /// The values of a frame that are not NULL.
    fn within(&self, frame: &Range<usize>) -> usize {
        match &self.0 {
            Some(counts) => counts[frame.end] - counts[frame.start],
            None => frame.len(),
        }
    }
}

/// Differences of running sums. These may leave their width, and the differences are right all the same if they fit.
fn exact_sums(values: &ArrayRef, frames: &[Range<usize>], ty: &DataType) -> Result<ArrayRef> {
    let counts = Counts::of(values.nulls(), values.len());
    let nulls: NullBuffer = frames.iter().map(|frame| counts.within(frame) > 0).collect();
    let is_wide = matches!(ty, DataType::Decimal256(..));
    let narrow = match values.data_type() {
        DataType::Int64 => Some(running(values, |i| values.as_primitive::<Int64Type>().value(i) as i128)),
        DataType::Decimal64(..) => Some(running(values, |i| values.as_primitive::<Decimal64Type>().value(i) as i128)),
        DataType::Decimal128(..) if !is_wide => {
            Some(running(values, |i| values.as_primitive::<Decimal128Type>().value(i)))
        }
        _ => None,
    };
    if let Some(sums) = narrow {
        let within = frames.iter().map(|frame| sums[frame.end].wrapping_sub(sums[frame.start]));
        return Ok(match is_wide {
            true => wide(within.map(i256::from_i128).collect(), nulls, ty)?,
            false => {
                let sums = Decimal128Array::new(within.collect::<Vec<_>>().into(), Some(nulls));
                Arc::new(sums.with_data_type(ty.clone()))
            }
        });
    }
    let widest = widest_of(values)?;
    let sums = running(values, |i| widest.value(i));
    let within = frames.iter().map(|frame| sums[frame.end].wrapping_sub(sums[frame.start]));
    match is_wide {
        true => wide(within.collect(), nulls, ty),
        false => {
            let narrow: Vec<i128> = within.map(|sum| sum.to_i128().unwrap_or(i128::MAX)).collect();
            Ok(Arc::new(Decimal128Array::new(narrow.into(), Some(nulls)).with_data_type(ty.clone())))
        }
    }
}

fn wide(sums: Vec<i256>, nulls: NullBuffer, ty: &DataType) -> Result<ArrayRef> {
    Ok(Arc::new(Decimal256Array::new(sums.into(), Some(nulls)).with_data_type(ty.clone())))
}

/// The sum of all values before each row, and of all.
fn running<T: ArrowNativeTypeOp>(values: &ArrayRef, value: impl Fn(usize) -> T) -> Vec<T> {
    let mut sums = Vec::with_capacity(values.len() + 1);
    let mut sum = T::default();
    sums.push(sum);
    for row in 0..values.len() {
        if values.is_valid(row) {
            sum = sum.add_wrapping(value(row));
        }
        sums.push(sum);
    }
    sums
}

/// The row of the smallest or largest value of each frame, the first of equal ones. A queue holds the rows that are
/// the best of those from them on.
fn extremes(order: &ArrayRef, frames: &[Range<usize>], largest: bool) -> Result<UInt64Array> {
    let order = without_negative_zero(order.clone());
    let options = SortOptions { descending: largest, nulls_first: false };
    let compare = make_comparator(&order, &order, options)?;
    let (mut queue, mut seen): (VecDeque<usize>, usize) = (VecDeque::new(), 0);
    let mut last = 0..0;
    let best = frames.iter().map(|frame| {
        if frame.start < last.start || frame.end < last.end {
            (queue, seen) = (VecDeque::new(), frame.start);
        }
        last = frame.clone();
        seen = seen.max(frame.start);
        while seen < frame.end {
            if order.is_valid(seen) {
                while queue.back().is_some_and(|back| compare(seen, *back).is_lt()) {
                    queue.pop_back();
                }
                queue.push_back(seen);
            }
            seen += 1;
        }
        while queue.front().is_some_and(|front| *front < frame.start) {
            queue.pop_front();
        }
        queue.front().filter(|front| **front < frame.end).map(|front| *front as u64)
    });
    Ok(best.collect())
}

/// Adds values one by one. A frame that begins where the one before it did goes on from that; any other is computed
/// anew, as MySQL does to keep the digits of floating-point numbers.
async fn folded<S: Clone, R: Clone>(
    frames: &[Range<usize>],
    nulls: Option<&NullBuffer>,
    start: S,
    add: impl Fn(&mut S, usize),
    finish: impl Fn(&S) -> R,
) -> Vec<R> {
    let mut results: Vec<R> = Vec::with_capacity(frames.len());
    let (mut state, mut last, mut steps) = (start.clone(), 0..0, 0);
    for frame in frames {
        if frame.start != last.start || frame.end < last.end {
            state = start.clone();
            last = frame.start..frame.start;
        }
        for row in last.end..frame.end {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                add(&mut state, row);
            }
        }
        steps += frame.end - last.end;
        last = frame.clone();
        results.push(finish(&state));
        if steps > STEPS_BETWEEN_PAUSES {
            steps = 0;
            reschedule().await;
        }
    }
    results
}

/// Other aggregates: each frame by itself, equal neighbours once.
async fn by_frame(kind: &Kind, values: &ArrayRef, frames: &[Range<usize>]) -> Result<ArrayRef> {
    let mut results: Vec<ArrayRef> = Vec::new();
    let (mut places, mut last, mut steps) = (Vec::with_capacity(frames.len()), None, 0);
    for frame in frames {
        if last.as_ref() != Some(frame) {
            let mut accumulator = kind.accumulator()?;
            let groups = vec![0; frame.len()];
            accumulator.update_batch(&[values.slice(frame.start, frame.len())], &groups, None, 1)?;
            results.push(accumulator.evaluate(EmitTo::All)?);
            last = Some(frame.clone());
            steps += frame.len() + 1;
        }
        places.push(results.len() as u64 - 1);
        if steps > STEPS_BETWEEN_PAUSES {
            steps = 0;
            reschedule().await;
        }
    }
    let parts: Vec<&dyn Array> = results.iter().map(AsRef::as_ref).collect();
    if parts.is_empty() {
        return Ok(new_null_array(&kind.result(), 0));
    }
    Ok(take(&concat(&parts)?, &UInt64Array::from(places), None)?)
}
