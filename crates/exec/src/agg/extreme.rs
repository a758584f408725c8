//! MIN and MAX of texts under a collation.

use arrow_array::{Array, ArrayRef, BooleanArray, StringViewArray, cast::AsArray};
use datafusion_common::Result;
use datafusion_expr::{EmitTo, GroupsAccumulator};
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

    fn update(&mut self, values: &ArrayRef, groups: &[usize], filter: Option<&BooleanArray>, total: usize) {
        self.best.resize(total, None);
        let texts = values.as_string_view_opt();
        let Some(texts) = texts else { return };
        for (row, group) in groups.iter().enumerate() {
            if texts.is_null(row) || filter.is_some_and(|f| f.is_null(row) || !f.value(row)) {
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
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let best = emit_to.take_needed(&mut self.best);
        self.bytes -= best.iter().flatten().map(|t| t.len()).sum::<usize>();
        Arc::new(best.iter().map(|t| t.as_deref()).collect::<StringViewArray>())
    }
}

impl GroupsAccumulator for Extreme {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.update(&values[0], group_indices, opt_filter, total_num_groups);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(self.emit(emit_to))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.emit(emit_to)])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.update(&values[0], group_indices, None, total_num_groups);
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut each = Extreme::new(self.collation, self.largest);
        let rows: Vec<usize> = (0..values[0].len()).collect();
        each.update(&values[0], &rows, opt_filter, rows.len());
        Ok(vec![each.emit(EmitTo::All)])
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<Box<str>>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_follow_the_collation() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("b"), Some("A"), None, Some("C")]));
        for (collation, least, most) in [(Collation::DEFAULT, "A", "C"), (Collation::Utf8mb4Bin, "A", "b")] {
            for (largest, want) in [(false, least), (true, most)] {
                let mut extreme = Extreme::new(collation, largest);
                extreme.update_batch(std::slice::from_ref(&texts), &[0, 0, 1, 0], None, 2).unwrap();
                let result = extreme.evaluate(EmitTo::All).unwrap();
                assert_eq!(result.as_string_view().value(0), want);
                assert!(result.is_null(1));
                assert_eq!(extreme.bytes, 0);
            }
        }
    }
}
