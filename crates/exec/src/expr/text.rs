//! Text under a collation: comparison and sort keys; the keys of JSON documents.

use super::kernel::Kernel;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, StringViewArray, builder::BinaryViewBuilder, cast::AsArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use muster_algebra::CompareOp;
use muster_types::{
    Collation,
    json::{self, JsonView},
};
use std::{cmp::Ordering, sync::Arc};

/// The collation's sort key of each text: `BinaryView`, compares as the texts do.
pub struct CollateKey {
    pub collation: Collation,
}

impl Kernel for CollateKey {
    fn label(&self) -> String {
        format!("sort_key_{:?}", self.collation)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        Ok(Arc::new(sort_keys(array.as_string_view(), self.collation)))
    }
}

/// The sort keys of texts; NULL stays NULL.
pub fn sort_keys(texts: &StringViewArray, collation: Collation) -> BinaryViewArray {
    let mut builder = BinaryViewBuilder::with_capacity(texts.len());
    let mut key = Vec::new();
    for text in texts {
        match text {
            None => builder.append_null(),
            Some(text) => {
                key.clear();
                collation.append_sort_key(text, &mut key);
                builder.append_value(&key);
            }
        }
    }
    builder.finish()
}

/// The bytes that JSON documents are grouped or sorted by: `BinaryView`.
pub struct DocumentKey {
    /// Equal exactly for equal documents; else containers are alike that have as many elements.
    pub whole: bool,
}

impl Kernel for DocumentKey {
    fn label(&self) -> String {
        format!("document_key_{}", self.whole)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let key = |document| match self.whole {
            true => json::group_key(JsonView::new(document)),
            false => json::order_key(JsonView::new(document)),
        };
        let keys = array.as_binary::<i64>().iter().map(|document| document.map(key));
        Ok(Arc::new(keys.collect::<BinaryViewArray>()))
    }
}

/// Comparison of texts where bytes do not decide.
pub struct CompareText {
    pub op: CompareOp,
    pub collation: Collation,
}

impl Kernel for CompareText {
    fn label(&self) -> String {
        format!("{:?}_{:?}", self.op, self.collation)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let op = self.op;
        match (&args[0], &args[1]) {
            (ColumnarValue::Array(column), ColumnarValue::Scalar(constant)) => {
                Ok(Arc::new(self.with_constant(column.as_string_view(), constant, |o| holds(op, o))))
            }
            (ColumnarValue::Scalar(constant), ColumnarValue::Array(column)) => {
                Ok(Arc::new(self.with_constant(column.as_string_view(), constant, |o| holds(op, o.reverse()))))
            }
            (left, right) => {
                let (left, right) = (left.to_array(rows)?, right.to_array(rows)?);
                Ok(Arc::new(self.columns(left.as_string_view(), right.as_string_view())))
            }
        }
    }
}

impl CompareText {
    /// Orders each text against the constant.
    fn with_constant(
        &self,
        texts: &StringViewArray,
        constant: &ScalarValue,
        holds: impl Fn(Ordering) -> bool,
    ) -> BooleanArray {
        let Some(Some(constant)) = constant.try_as_str() else {
            if self.op == CompareOp::NullSafeEq {
                return BooleanArray::new(BooleanBuffer::collect_bool(texts.len(), |i| texts.is_null(i)), None);
            }
            return BooleanArray::new_null(texts.len());
        };
        let plain = is_plain(constant) && self.collation.ascii_folds_case();
        let equality = matches!(self.op, CompareOp::Eq | CompareOp::NotEq | CompareOp::NullSafeEq);
        let one = |i: usize| {
            let text = texts.value(i);
            if equality && plain && is_plain(text) {
                // Such characters weigh the same only in the two cases of one letter.
                return holds(match text.eq_ignore_ascii_case(constant) {
                    true => Ordering::Equal,
                    false => Ordering::Less,
                });
            }
            holds(self.collation.compare(text, constant))
        };
        if self.op == CompareOp::NullSafeEq {
            let bits = BooleanBuffer::collect_bool(texts.len(), |i| !texts.is_null(i) && one(i));
            return BooleanArray::new(bits, None);
        }
        BooleanArray::new(BooleanBuffer::collect_bool(texts.len(), one), texts.nulls().cloned())
    }

    fn columns(&self, left: &StringViewArray, right: &StringViewArray) -> BooleanArray {
        let compare = |i: usize| holds(self.op, self.collation.compare(left.value(i), right.value(i)));
        if self.op == CompareOp::NullSafeEq {
            let bits = BooleanBuffer::collect_bool(left.len(), |i| match (left.is_null(i), right.is_null(i)) {
                (false, false) => compare(i),
                (a, b) => a && b,
            });
            return BooleanArray::new(bits, None);
        }
        let nulls = NullBuffer::union(left.nulls(), right.nulls());
        BooleanArray::new(BooleanBuffer::collect_bool(left.len(), compare), nulls)
    }
}

/// `SUBSTRING(text, start [, length])` with constants; `start` counts from 1, or from the end if negative.
pub struct SubstringAt {
    pub start: i64,
    pub length: Option<i64>,
}

impl SubstringAt {
    /// The piece, with positions in characters. Position 0 and lengths below 1 yield the empty text.
    fn of<'a>(&self, text: &'a str) -> &'a str {
        let length = self.length.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(0));
        if self.start == 0 || length == 0 {
            return "";
        }
        if text.is_ascii() {
            let Some(from) = self.first(text.len()) else { return "" };
            return &text[from..from.saturating_add(length).min(text.len())];
        }
        let Some(from) = self.first(text.chars().count()) else { return "" };
        let mut ends = text.char_indices().map(|(i, _)| i).skip(from);
        let Some(begin) = ends.next() else { return "" };
        let end = if length == usize::MAX { None } else { ends.nth(length - 1) };
        &text[begin..end.unwrap_or(text.len())]
    }

    /// The position, counted from 0, at which the piece begins in a text of `n` characters.
    fn first(&self, n: usize) -> Option<usize> {
        let distance = usize::try_from(self.start.unsigned_abs()).ok()?;
        let first = if self.start > 0 { distance - 1 } else { n.checked_sub(distance)? };
        (first < n).then_some(first)
    }
}

impl Kernel for SubstringAt {
    fn label(&self) -> String {
        format!("substring_{}_{:?}", self.start, self.length)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let pieces: StringViewArray = array.as_string_view().iter().map(|t| t.map(|t| self.of(t))).collect();
        Ok(Arc::new(pieces))
    }
}

/// ASCII, no control characters (some collations ignore them), no space at the end (some pad with spaces).
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.last() != Some(&b' ') && bytes.iter().all(|b| (0x20..0x7F).contains(b))
}

/// Returns true if `a op b` holds, given how a compares to b.
pub fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => order.is_eq(),
        CompareOp::NotEq => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::LtEq => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::GtEq => order.is_ge(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_follows_the_collation() {
        let column: ArrayRef = Arc::new(StringViewArray::from(vec![
            Some("building"),
            Some("BUILDING"),
            None,
            Some("BUILDINGS"),
            Some("b"),
        ]));
        let constant = ColumnarValue::Scalar(ScalarValue::Utf8View(Some("Building".into())));
        let run = |op, collation| {
            let kernel = CompareText { op, collation };
            let args = [ColumnarValue::Array(column.clone()), constant.clone()];
            kernel.call(&args, 5).unwrap().as_boolean().iter().collect::<Vec<_>>()
        };
        let (t, f) = (Some(true), Some(false));
        assert_eq!(run(CompareOp::Eq, Collation::DEFAULT), [t, t, None, f, f]);
        assert_eq!(run(CompareOp::Eq, Collation::Utf8mb4Bin), [f, f, None, f, f]);
        assert_eq!(run(CompareOp::NullSafeEq, Collation::DEFAULT), [t, t, f, f, f]);
        assert_eq!(run(CompareOp::Lt, Collation::DEFAULT), [f, f, None, f, t]);
    }

    #[test]
    fn substrings_count_characters() {
        for (text, start, length, want) in [
            ("13-702", 1, Some(2), "13"),
            ("abc", -2, None, "bc"),
            ("abc", 0, Some(2), ""),
            ("abc", 4, None, ""),
            ("abc", -4, Some(2), ""),
            ("äöü", 2, Some(1), "ö"),
            ("äöü", -1, Some(9), "ü"),
            ("abc", 2, Some(-1), ""),
        ] {
            assert_eq!(SubstringAt { start, length }.of(text), want, "{text} {start} {length:?}");
        }
    }

    #[test]
    fn sort_keys_order_as_comparison_does() {
        let texts = ["a", "B", "é", "E", "z ", "_"];
        let keys = sort_keys(&StringViewArray::from(texts.to_vec()), Collation::DEFAULT);
        for (i, a) in texts.iter().enumerate() {
            for (j, b) in texts.iter().enumerate() {
                assert_eq!(keys.value(i).cmp(keys.value(j)), Collation::DEFAULT.compare(a, b), "{a} {b}");
            }
        }
    }
}
