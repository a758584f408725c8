//! MIN and MAX of texts under a collation, of texts and byte strings by their bytes, and of JSON documents.

use super::fold::{Fold, counts};
use arrow_array::{
    ArrayRef, BooleanArray, GenericByteViewArray,
    cast::AsArray,
    types::{BinaryViewType, ByteViewType, StringViewType},
};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use muster_types::{
    Collation,
    json::{self, JsonView},
};
use std::{cmp::Ordering, sync::Arc};

/// The smallest or largest text or byte string of each group.
pub struct Extreme<T: ByteViewType> {
    compare: Box<dyn Fn(&T::Native, &T::Native) -> Ordering + Send>,
    largest: bool,
    best: Vec<Option<Box<T::Native>>>,
    /// Bytes of the values kept.
    bytes: usize,
    /// The Arrow type of the values, unless that is the one of views.
    ty: Option<DataType>,
}

impl Extreme<StringViewType> {
    /// `collation`: what orders the texts; without, their bytes.
    pub fn of_texts(collation: Option<Collation>, largest: bool) -> Self {
        match collation {
            Some(collation) => Extreme::new(move |a: &str, b: &str| collation.compare(a, b), largest),
            None => Extreme::new(str::cmp, largest),
        }
    }
}

impl Extreme<BinaryViewType> {
    pub fn of_bytes(largest: bool) -> Self {
        Extreme::new(<[u8]>::cmp, largest)
    }

    pub fn of_documents(largest: bool) -> Self {
        let compare = |a: &[u8], b: &[u8]| json::compare(JsonView::new(a), JsonView::new(b));
        Extreme { ty: Some(DataType::LargeBinary), ..Extreme::new(compare, largest) }
    }
}

impl<T: ByteViewType> Extreme<T> {
    fn new(compare: impl Fn(&T::Native, &T::Native) -> Ordering + Send + 'static, largest: bool) -> Self {
        Extreme { compare: Box::new(compare), largest, best: Vec::new(), bytes: 0, ty: None }
    }
}

impl<T: ByteViewType> Fold for Extreme<T>
where
    for<'a> Box<T::Native>: From<&'a T::Native> + AsRef<T::Native> + Send,
{
    fn update(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.best.resize_with(total, || None);
        let values = match self.ty {
            Some(_) => arrow_cast::cast(values, &T::DATA_TYPE)?,
            None => values.clone(),
        };
        let Some(values) = values.as_byte_view_opt::<T>() else { return Ok(()) };
        for (row, group) in groups.iter().enumerate() {
            if !counts(values, filter, row) {
                continue;
            }
            let value = values.value(row);
            let better = match &self.best[*group] {
                None => true,
                Some(best) => {
                    let order = (self.compare)(value, best);
                    if self.largest { order.is_gt() } else { order.is_lt() }
                }
            };
            if better {
                self.bytes += size_of_val(value);
                self.bytes -= self.best[*group].as_ref().map_or(0, |v| size_of_val::<T::Native>(v));
                self.best[*group] = Some(value.into());
            }
        }
        Ok(())
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let best = emit_to.take_needed(&mut self.best);
        self.bytes -= best.iter().flatten().map(|v| size_of_val::<T::Native>(v)).sum::<usize>();
        let best: ArrayRef = Arc::new(best.into_iter().collect::<GenericByteViewArray<T>>());
        match &self.ty {
            // The values came from an array of this type.
            Some(ty) => arrow_cast::cast(&best, ty).unwrap_or(best),
            None => best,
        }
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<Box<T::Native>>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Array, BinaryViewArray, StringViewArray};

    #[test]
    fn extremes_follow_the_collation() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("b"), Some("A"), None, Some("C")]));
        let default = Some(Collation::DEFAULT);
        for (collation, least, most) in [(default, "A", "C"), (Some(Collation::Utf8mb4Bin), "A", "b"), (None, "A", "b")]
        {
            for (largest, want) in [(false, least), (true, most)] {
                let mut extreme = Extreme::of_texts(collation, largest);
                extreme.update(&texts, &[0, 0, 1, 0], None, 2).unwrap();
                let result = extreme.emit(EmitTo::All);
                assert_eq!(result.as_string_view().value(0), want);
                assert!(result.is_null(1));
                assert_eq!(extreme.bytes, 0);
            }
        }
    }

    #[test]
    fn byte_strings_are_ordered_by_their_bytes() {
        let values: ArrayRef = Arc::new(BinaryViewArray::from(vec![Some(&b"\xff"[..]), Some(b"a"), None, Some(b"")]));
        for (largest, want) in [(false, &b""[..]), (true, b"\xff")] {
            let mut extreme = Extreme::of_bytes(largest);
            extreme.update(&values, &[0, 0, 1, 0], None, 2).unwrap();
            let result = extreme.emit(EmitTo::All);
            assert_eq!(result.as_binary_view().value(0), want);
            assert!(result.is_null(1));
        }
    }
}
