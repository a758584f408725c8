//! Which rows of a leaf have a value between two others, told from the stored form of the values: nothing is decoded,
//! and narrow values are compared many at a time.

use super::{
    column::{Column, Data, Nulls},
    rows::RowSelection,
};
use crate::processor::in_wide_registers;

/// Clears the marks of the rows whose value is not from `least` to `most`, and of those that are NULL. There is a mark
/// for each of `rows`: 1, or 0 for a row that is left out already. The column is one of integers.
pub fn keep_within(column: &Column<'_>, rows: &RowSelection, least: i64, most: i64, marks: &mut [u8]) {
    let RowSelection::Mixed(mixed) = rows else { return keep_base_within(column, rows, least, most, marks) };
    let mut within = vec![1; rows.decoded().len()];
    keep_base_within(column, rows.decoded(), least, most, &mut within);
    mixed.arrange(&mut within, 0);
    for (place, row) in mixed.outside(column) {
        within[place] = u8::from(!column.is_null(row) && (least..=most).contains(&column.int(row)));
    }
    marks.iter_mut().zip(within).for_each(|(mark, within)| *mark &= within);
}

/// The same for rows of the base.
fn keep_base_within(column: &Column<'_>, rows: &RowSelection, least: i64, most: i64, marks: &mut [u8]) {
    match column.nulls {
        Nulls::None => {}
        Nulls::All => return marks.fill(0),
        Nulls::Bitmap(_) => {
            rows.iter().zip(marks.iter_mut()).for_each(|(row, mark)| *mark &= !u8::from(column.nulls.is_null(row)) & 1);
        }
    }
    match column.data {
        Data::IntDelta { base, width, data } => {
            let (least, most) = (i128::from(least) - i128::from(base), i128::from(most) - i128::from(base));
            stored_within(data, width, (0, (1 << (8 * width)) - 1), rows, (least, most), marks);
        }
        Data::IntPlain { width, signed, data } => {
            let bits = 8 * width as u32;
            let all = match signed || width == 8 {
                true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                false => (0, (1i128 << bits) - 1),
            };
            stored_within(data, width, all, rows, (least.into(), most.into()), marks);
        }
        Data::IntConstant(x) if (least..=most).contains(&x) => {}
        // Columns of other classes do not come here.
        _ => marks.fill(0),
    }
}

/// The same for numbers of `width` bytes, which are among `all`: first and last.
fn stored_within(
    data: &[u8],
    width: usize,
    all: (i128, i128),
    rows: &RowSelection,
    (least, most): (i128, i128),
    marks: &mut [u8],
) {
    let (least, most) = (least.max(all.0), most.min(all.1));
    if least > most {
        return marks.fill(0);
    }
    if (least, most) == all {
        return;
    }
    // Numbers that wrap around at the width: what is below the least is then above the span.
    let (least, span) = (least as u64, (most - least) as u64);
    match width {
        1 => each(data, rows, marks, Within::<u8> { least: least as u8, span: span as u8 }),
        2 => each(data, rows, marks, Within::<u16> { least: least as u16, span: span as u16 }),
        4 => each(data, rows, marks, Within::<u32> { least: least as u32, span: span as u32 }),
        _ => each(data, rows, marks, Within::<u64> { least, span }),
    }
}

/// The numbers from `least` on, and up to `span` more.
#[derive(Clone, Copy)]
struct Within<T> {
    least: T,
    span: T,
}

/// A test of a stored number of `W` bytes: 1 if it passes, else 0.
trait Test<const W: usize>: Copy {
    fn test(self, stored: &[u8; W]) -> u8;
}

macro_rules! within {
    ($($number:ty, $bytes:literal);*) => {$(
        impl Test<$bytes> for Within<$number> {
            #[inline(always)]
            fn test(self, stored: &[u8; $bytes]) -> u8 {
                u8::from(<$number>::from_le_bytes(*stored).wrapping_sub(self.least) <= self.span)
            }
        }
    )*};
}

within!(u8, 1; u16, 2; u32, 4);

impl Test<8> for Within<u64> {
    /// Compares as signed numbers, which processors compare several at a time at this width.
    #[inline(always)]
    fn test(self, stored: &[u8; 8]) -> u8 {
        let signed = |x: u64| x as i64 ^ i64::MIN;
        1 - u8::from(signed(u64::from_le_bytes(*stored).wrapping_sub(self.least)) > signed(self.span))
    }
}

#[inline(always)]
fn each<const W: usize>(data: &[u8], rows: &RowSelection, marks: &mut [u8], test: impl Test<W>) {
    match rows.decoded() {
        RowSelection::Range(range) => {
            let (values, _) = data[range.start * W..range.end * W].as_chunks::<W>();
            // The closure owns what it needs, so that nothing is read anew for each row.
            in_wide_registers(move || marks.iter_mut().zip(values).for_each(|(mark, x)| *mark &= test.test(x)));
        }
        RowSelection::List(list) => {
            let (values, _) = data.as_chunks::<W>();
            marks.iter_mut().zip(list).for_each(|(mark, row)| *mark &= test.test(&values[*row as usize]));
        }
        // Decoded rows are never mixed.
        RowSelection::Mixed(_) => {}
    }
}
