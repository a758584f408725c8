//! Some value of each group: the first that is not NULL.

use super::fold::{Fold, Folded, counts};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray,
    builder::{BinaryViewBuilder, LargeBinaryBuilder, StringViewBuilder},
    cast::AsArray,
    types::*,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// The accumulator for values of this Arrow type.
pub fn accumulator(ty: &DataType) -> Result<Box<dyn GroupsAccumulator>> {
    macro_rules! primitive {
        ($arrow:ty) => {
            Box::new(First::folded(Numbers::<$arrow> { values: Vec::new(), data_type: ty.clone() }))
        };
    }
    Ok(match ty {
        DataType::Int8 => primitive!(Int8Type),
        DataType::Int16 => primitive!(Int16Type),
        DataType::Int32 => primitive!(Int32Type),
        DataType::Int64 => primitive!(Int64Type),
        DataType::UInt8 => primitive!(UInt8Type),
        DataType::UInt16 => primitive!(UInt16Type),
        DataType::UInt32 => primitive!(UInt32Type),
        DataType::UInt64 => primitive!(UInt64Type),
        DataType::Float32 => primitive!(Float32Type),
        DataType::Float64 => primitive!(Float64Type),
        DataType::Decimal64(_, _) => primitive!(Decimal64Type),
        DataType::Decimal128(_, _) => primitive!(Decimal128Type),
        DataType::Decimal256(_, _) => primitive!(Decimal256Type),
        DataType::Date32 => primitive!(Date32Type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => primitive!(TimestampMicrosecondType),
        DataType::Duration(TimeUnit::Microsecond) => primitive!(DurationMicrosecondType),
        DataType::Boolean => Box::new(First::folded(Booleans(Vec::new()))),
        DataType::Utf8View | DataType::BinaryView | DataType::LargeBinary => {
            Box::new(First::folded(Bytes { arena: Vec::new(), places: Vec::new(), ty: ty.clone() }))
        }
        DataType::Null => Box::new(First::folded(Nothing(0))),
        other => return Err(DataFusionError::Internal(format!("any_value of {other}"))),
    })
}

/// The values of all groups, one slot for each group.
trait Slots: Send + 'static {
    fn resize(&mut self, n: usize);
    /// Calls `keep(row)` to learn which rows to take: the group of a row whose group has no value yet.
    fn take(&mut self, values: &dyn Array, wanted: &mut dyn Iterator<Item = (usize, usize)>);
    fn emit(&mut self, emit_to: EmitTo, seen: NullBuffer) -> ArrayRef;
    fn size(&self) -> usize;
}

struct First<S> {
    slots: S,
    seen: Vec<bool>,
}

impl<S: Slots> First<S> {
    fn folded(slots: S) -> Folded<First<S>> {
        Folded(First { slots, seen: Vec::new() })
    }
}

impl<S: Slots> Fold for First<S> {
    fn update(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.slots.resize(total);
        self.seen.resize(total, false);
        if values.data_type() == &DataType::Null {
            return Ok(());
        }
        let seen = &mut self.seen;
        let mut wanted = groups.iter().enumerate().filter_map(|(row, group)| {
            if seen[*group] || !counts(values.as_ref(), filter, row) {
                return None;
            }
            seen[*group] = true;
            Some((row, *group))
        });
        self.slots.take(values.as_ref(), &mut wanted);
        Ok(())
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let seen = NullBuffer::from(emit_to.take_needed(&mut self.seen));
        self.slots.emit(emit_to, seen)
    }

    fn size(&self) -> usize {
        self.slots.size() + self.seen.capacity()
    }
}

struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    data_type: DataType,
}

impl<T: ArrowPrimitiveType> Slots for Numbers<T> {
    fn resize(&mut self, n: usize) {
        self.values.resize(n, T::default_value());
    }

    fn take(&mut self, values: &dyn Array, wanted: &mut dyn Iterator<Item = (usize, usize)>) {
        let values = values.as_primitive::<T>().values();
        wanted.for_each(|(row, group)| self.values[group] = values[row]);
    }

    fn emit(&mut self, emit_to: EmitTo, seen: NullBuffer) -> ArrayRef {
        let values = emit_to.take_needed(&mut self.values);
        Arc::new(PrimitiveArray::<T>::new(values.into(), Some(seen)).with_data_type(self.data_type.clone()))
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>()
    }
}

struct Booleans(Vec<bool>);

impl Slots for Booleans {
    fn resize(&mut self, n: usize) {
        self.0.resize(n, false);
    }

    fn take(&mut self, values: &dyn Array, wanted: &mut dyn Iterator<Item = (usize, usize)>) {
        let values = values.as_boolean();
        wanted.for_each(|(row, group)| self.0[group] = values.value(row));
    }

    fn emit(&mut self, emit_to: EmitTo, seen: NullBuffer) -> ArrayRef {
        Arc::new(BooleanArray::new(BooleanBuffer::from(emit_to.take_needed(&mut self.0)), Some(seen)))
    }

    fn size(&self) -> usize {
        self.0.capacity()
    }
}

/// Texts, byte strings and documents, one behind the other.
struct Bytes {
    arena: Vec<u8>,
    /// Begin and length in the arena.
    places: Vec<(usize, usize)>,
    ty: DataType,
}

impl Bytes {
    fn build(&self, places: &[(usize, usize)], seen: &NullBuffer) -> ArrayRef {
        let values = places.iter().enumerate().map(|(i, (at, n))| seen.is_valid(i).then(|| &self.arena[*at..at + n]));
        if self.ty == DataType::LargeBinary {
            let mut builder = LargeBinaryBuilder::new();
            values.for_each(|v| builder.append_option(v));
            Arc::new(builder.finish())
        } else if self.ty == DataType::Utf8View {
            let mut builder = StringViewBuilder::with_capacity(places.len());
            // Values that were taken from texts are text.
            values.for_each(|v| builder.append_option(v.and_then(|v| std::str::from_utf8(v).ok())));
            Arc::new(builder.finish())
        } else {
            let mut builder = BinaryViewBuilder::with_capacity(places.len());
            values.for_each(|v| builder.append_option(v));
            Arc::new(builder.finish())
        }
    }
}

impl Slots for Bytes {
    fn resize(&mut self, n: usize) {
        self.places.resize(n, (0, 0));
    }

    fn take(&mut self, values: &dyn Array, wanted: &mut dyn Iterator<Item = (usize, usize)>) {
        let mut keep = |group: usize, value: &[u8]| {
            self.places[group] = (self.arena.len(), value.len());
            self.arena.extend_from_slice(value);
        };
        if self.ty == DataType::LargeBinary {
            let values = values.as_binary::<i64>();
            wanted.for_each(|(row, group)| keep(group, values.value(row)));
        } else if self.ty == DataType::Utf8View {
            let values = values.as_string_view();
            wanted.for_each(|(row, group)| keep(group, values.value(row).as_bytes()));
        } else {
            let values = values.as_binary_view();
            wanted.for_each(|(row, group)| keep(group, values.value(row)));
        }
    }

    fn emit(&mut self, emit_to: EmitTo, seen: NullBuffer) -> ArrayRef {
        let places = emit_to.take_needed(&mut self.places);
        let array = self.build(&places, &seen);
        // Only what later groups need is kept.
        let mut arena = Vec::new();
        for place in &mut self.places {
            let begin = arena.len();
            arena.extend_from_slice(&self.arena[place.0..place.0 + place.1]);
            place.0 = begin;
        }
        self.arena = arena;
        array
    }

    fn size(&self) -> usize {
        self.arena.capacity() + self.places.capacity() * size_of::<(usize, usize)>()
    }
}

/// The slots of the type that has only NULL.
struct Nothing(usize);

impl Slots for Nothing {
    fn resize(&mut self, n: usize) {
        self.0 = n;
    }

    fn take(&mut self, _: &dyn Array, _: &mut dyn Iterator<Item = (usize, usize)>) {}

    fn emit(&mut self, emit_to: EmitTo, seen: NullBuffer) -> ArrayRef {
        self.0 = match emit_to {
            EmitTo::All => 0,
            EmitTo::First(n) => self.0.saturating_sub(n),
        };
        arrow_array::new_null_array(&DataType::Null, seen.len())
    }

    fn size(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringViewArray;

    #[test]
    fn the_first_value_of_each_group_survives_partial_emission() {
        let mut texts = accumulator(&DataType::Utf8View).unwrap();
        let array: ArrayRef = Arc::new(StringViewArray::from(vec![None, Some("a"), Some("b"), Some("c"), Some("d")]));
        texts.update_batch(&[array], &[0, 0, 0, 1, 2], None, 4).unwrap();
        let first = texts.evaluate(EmitTo::First(1)).unwrap();
        assert_eq!(first.as_string_view().value(0), "a");
        let more: ArrayRef = Arc::new(StringViewArray::from(vec![Some("e"), Some("f")]));
        texts.merge_batch(&[more], &[0, 2], 3).unwrap();
        let rest = texts.evaluate(EmitTo::All).unwrap();
        assert_eq!(rest.as_string_view().iter().collect::<Vec<_>>(), [Some("c"), Some("d"), Some("f")]);
    }
}
