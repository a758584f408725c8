//! Small numbers for the values of one key column.

use super::domain::INDEX_BITS_MAX;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, cast::AsArray, types::*};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use std::collections::HashMap;

/// A column with more values has no codes.
const VALUES_MAX: usize = 1 << 10;
/// Nor has one with a longer value: the values of a column are kept.
const VALUE_BYTES_MAX: usize = 64;
/// Places in which the codes of texts are remembered: at first, and at least for each text.
const PLACES_MIN: usize = 64;
const PLACES_OF_VALUE: usize = 2;
/// Longest text that a view holds itself: equal views are then equal texts.
const INLINE: u32 = 12;
/// The code of NULL.
const NULL: u16 = 0;

/// The codes of a column's values. A value keeps its code until [`Codes::assign`] says otherwise.
pub struct Codes {
    coder: Coder,
    /// Codes of the rows of the last batch.
    rows: Vec<u16>,
}

enum Coder {
    Number(Numbers),
    Boolean,
    View(Box<Views>),
}

/// Codes of numbers are their distance from `base`, plus one.
struct Numbers {
    base: i64,
    /// True if there has been a value.
    any: bool,
    bits: u32,
}

/// Codes of texts and byte strings, in the order in which they were met, from one.
struct Views {
    by_value: HashMap<Box<[u8]>, u16>,
    /// Views, and the codes that they have; an empty place has code 0. As many as a power of two.
    remembered: Vec<(u128, u16)>,
    /// Codes of the values of one byte.
    of_bytes: [u16; 256],
    /// Bytes of all values.
    bytes: usize,
}

/// The only byte of a value, from its view: the length, and the value behind it.
#[inline(always)]
fn single_byte(view: u128) -> Option<usize> {
    let byte = (view >> 32) as u8;
    (view == 1 | u128::from(byte) << 32).then_some(byte.into())
}

impl Codes {
    /// `None`: values of this type have no codes.
    pub fn of(ty: &DataType) -> Option<Codes> {
        let coder = match ty {
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::Date32
            | DataType::Timestamp(TimeUnit::Microsecond, _) => Coder::Number(Numbers { base: 0, any: false, bits: 0 }),
            DataType::Boolean => Coder::Boolean,
            DataType::Utf8View | DataType::BinaryView => {
                let remembered = vec![(0, NULL); PLACES_MIN];
                Coder::View(Box::new(Views { by_value: HashMap::new(), remembered, of_bytes: [NULL; 256], bytes: 0 }))
            }
            _ => return None,
        };
        Some(Codes { coder, rows: Vec::new() })
    }

    /// Gives the rows of a batch their codes. False if earlier codes no longer hold; `None` if there are too many
    /// values.
    pub fn assign(&mut self, array: &ArrayRef) -> Option<bool> {
        let nulls = array.nulls().filter(|n| n.null_count() > 0);
        let rows = &mut self.rows;
        rows.clear();
        let same = match &mut self.coder {
            Coder::Boolean => {
                rows.extend(array.as_boolean().values().iter().map(|value| 1 + u16::from(value)));
                true
            }
            Coder::View(views) => {
                match array.data_type() {
                    DataType::Dictionary(..) => views.assign_coded(array, rows)?,
                    DataType::Utf8View => {
                        let texts = array.as_string_view();
                        views.assign(texts.views(), nulls, |row| texts.value(row).as_bytes(), rows)?
                    }
                    _ => {
                        let bytes = array.as_binary_view();
                        views.assign(bytes.views(), nulls, |row| bytes.value(row), rows)?
                    }
                }
                true
            }
            Coder::Number(numbers) => match array.data_type() {
                DataType::Int8 => numbers.assign::<Int8Type>(array, nulls, rows)?,
                DataType::Int16 => numbers.assign::<Int16Type>(array, nulls, rows)?,
                DataType::Int32 => numbers.assign::<Int32Type>(array, nulls, rows)?,
                DataType::Int64 => numbers.assign::<Int64Type>(array, nulls, rows)?,
                DataType::UInt8 => numbers.assign::<UInt8Type>(array, nulls, rows)?,
                DataType::UInt16 => numbers.assign::<UInt16Type>(array, nulls, rows)?,
                DataType::UInt32 => numbers.assign::<UInt32Type>(array, nulls, rows)?,
                DataType::Date32 => numbers.assign::<Date32Type>(array, nulls, rows)?,
                _ => numbers.assign::<TimestampMicrosecondType>(array, nulls, rows)?,
            },
        };
        if let Some(nulls) = nulls {
            rows.iter_mut().zip(nulls).filter(|(_, valid)| !valid).for_each(|(code, _)| *code = NULL);
        }
        Some(same)
    }

    /// Codes of the rows of the last batch.
    pub fn of_rows(&self) -> &[u16] {
        &self.rows
    }

    /// Bits that all codes fit in.
    pub fn bits(&self) -> u32 {
        match &self.coder {
            Coder::Number(numbers) => numbers.bits,
            Coder::Boolean => 2,
            Coder::View(views) => u64::BITS - (views.by_value.len() as u64).leading_zeros(),
        }
    }

    pub fn bytes(&self) -> usize {
        let coder = match &self.coder {
            Coder::View(views) => {
                let places = views.remembered.capacity() * size_of::<(u128, u16)>();
                views.bytes + views.by_value.capacity() * size_of::<(Box<[u8]>, u16)>() + places
            }
            _ => 0,
        };
        coder + self.rows.capacity() * size_of::<u16>()
    }
}

impl Numbers {
    fn assign<T: ArrowPrimitiveType>(
        &mut self,
        array: &ArrayRef,
        nulls: Option<&NullBuffer>,
        codes: &mut Vec<u16>,
    ) -> Option<bool>
    where
        T::Native: Into<i64>,
    {
        let values = array.as_primitive::<T>().values();
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        let mut see = |value: T::Native| {
            let value: i64 = value.into();
            least = least.min(value);
            most = most.max(value);
        };
        match nulls {
            None => values.iter().for_each(|value| see(*value)),
            Some(nulls) => nulls.valid_indices().for_each(|row| see(values[row])),
        }
        let same = least > most || self.hold(least, most)?;
        let base = self.base;
        codes.extend(values.iter().map(|value| {
            let value: i64 = (*value).into();
            value.wrapping_sub(base).wrapping_add(1) as u16
        }));
        Some(same)
    }

    /// Makes room for the values from `least` to `most`. Returns whether the codes stayed; `None` if there are too
    /// many.
    fn hold(&mut self, least: i64, most: i64) -> Option<bool> {
        let last_code = |base: i64, most: i64| most.checked_sub(base)?.checked_add(1);
        if self.any && least >= self.base && last_code(self.base, most)? >> self.bits == 0 {
            return Some(true);
        }
        let (base, most) = match self.any {
            false => (least, most),
            true => (least.min(self.base), most.max(self.base.saturating_add((1 << self.bits) - 2))),
        };
        let bits = i64::BITS - last_code(base, most)?.leading_zeros();
        if bits > INDEX_BITS_MAX {
            return None;
        }
        *self = Numbers { base, any: true, bits };
        Some(false)
    }
}

impl Views {
    fn assign<'a>(
        &mut self,
        views: &[u128],
        nulls: Option<&NullBuffer>,
        value: impl Fn(usize) -> &'a [u8],
        codes: &mut Vec<u16>,
    ) -> Option<()> {
        // A longer text's view points into the buffers of its batch.
        self.remembered.iter_mut().filter(|(view, _)| *view as u32 > INLINE).for_each(|place| *place = (0, NULL));
        codes.resize(views.len(), NULL);
        for (row, (view, code)) in views.iter().zip(codes).enumerate() {
            if let Some(byte) = single_byte(*view)
                && self.of_bytes[byte] != NULL
            {
                *code = self.of_bytes[byte];
                continue;
            }
            let (known, known_code) = self.remembered[self.place_of(*view)];
            if known == *view && known_code != NULL {
                *code = known_code;
            } else if nulls.is_none_or(|n| n.is_valid(row)) {
                *code = self.code_of(value(row))?;
                match single_byte(*view) {
                    Some(byte) => self.of_bytes[byte] = *code,
                    None => {
                        let place = self.place_of(*view);
                        self.remembered[place] = (*view, *code);
                    }
                }
            }
        }
        Some(())
    }

    /// The same for a dictionary, whose values are few or are no codes.
    fn assign_coded(&mut self, array: &ArrayRef, codes: &mut Vec<u16>) -> Option<()> {
        let dictionary = array.as_dictionary_opt::<UInt32Type>()?;
        let values = dictionary.values();
        let known: Vec<u16> = match values.data_type() {
            DataType::Utf8View => values.as_string_view().iter().map(|v| self.code_of(v?.as_bytes())).collect(),
            _ => values.as_binary_view().iter().map(|v| self.code_of(v?)).collect::<Option<_>>(),
        }?;
        // A row that is NULL may have any key.
        codes.extend(dictionary.keys().values().iter().map(|key| known.get(*key as usize).copied().unwrap_or(NULL)));
        Some(())
    }

    fn code_of(&mut self, value: &[u8]) -> Option<u16> {
        if let Some(code) = self.by_value.get(value) {
            return Some(*code);
        }
        if self.by_value.len() == VALUES_MAX || value.len() > VALUE_BYTES_MAX {
            return None;
        }
        let code = self.by_value.len() as u16 + 1;
        self.bytes += value.len();
        self.by_value.insert(value.into(), code);
        if self.by_value.len() * PLACES_OF_VALUE > self.remembered.len() {
            self.remembered = vec![(0, NULL); self.remembered.len() * 2];
        }
        Some(code)
    }

    /// The place at which the code of a view is remembered.
    #[inline(always)]
    fn place_of(&self, view: u128) -> usize {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mixed = (view as u64 ^ ((view >> 64) as u64).wrapping_mul(ODD)).wrapping_mul(ODD);
        (mixed >> 32) as usize & (self.remembered.len() - 1)
    }
}
