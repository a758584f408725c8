//! MIN and MAX of texts under a collation.

use super::fold::{Fold, counts};
use arrow_array::{ArrayRef, BooleanArray, StringViewArray, cast::AsArray};
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use muster_types::Collation;
use std::sync::Arc;

/// The smallest or largest text of each group.
pub struct Extreme {
    collation: Collation,
    largest: bool,
    best: Vec<Option<Box<str>>>,
    /// Bytes of the texts kept.
    bytes: usize,
}

impl Extreme {
    pub fn new(collation: Collation, largest: bool) -> Extreme {
        Extreme { collation, largest, best: Vec::new(), bytes: 0 }
    }
}

impl Fold for Extreme {
    fn update(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.best.resize(total, None);
        let Some(texts) = values.as_string_view_opt() else { return Ok(()) };
        for (row, group) in groups.iter().enumerate() {
            if !counts(texts, filter, row) {
                continue;
            }
            let text = texts.value(row);
            let better = match &self.best[*group] {
                None => true,
                Some(best) => {
                    let order = self.collation.compare(text, best);
                    if self.largest { order.is_gt() } else { order.is_lt() }
                }
            };
            if better {
                self.bytes += text.len();
                self.bytes -= self.best[*group].as_ref().map_or(0, |t| t.len());
                self.best[*group] = Some(text.into());
            }
        }
        Ok(())
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let best = emit_to.take_needed(&mut self.best);
        self.bytes -= best.iter().flatten().map(|t| t.len()).sum::<usize>();
        Arc::new(best.iter().map(|t| t.as_deref()).collect::<StringViewArray>())
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<Box<str>>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn extremes_follow_the_collation() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("b"), Some("A"), None, Some("C")]));
        for (collation, least, most) in [(Collation::DEFAULT, "A", "C"), (Collation::Utf8mb4Bin, "A", "b")] {
            for (largest, want) in [(false, least), (true, most)] {
                let mut extreme = Extreme::new(collation, largest);
                extreme.update(&texts, &[0, 0, 1, 0], None, 2).unwrap();
                let result = extreme.emit(EmitTo::All);
                assert_eq!(result.as_string_view().value(0), want);
                assert!(result.is_null(1));
                assert_eq!(extreme.bytes, 0);
            }
        }
    }
}
