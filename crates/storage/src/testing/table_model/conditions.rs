//! Scans with conditions, scans that leave entries out, and scans for the first row of each group, beside the model.

use super::{
    compare::{Compared, Verdict, same_rows},
    model::Row,
};
use crate::{
    ScanRequest, Steering,
    rows::fixtures::{EvenOnes, even},
    testing::random::Random,
};
use muster_types::{KeyInterval, Value};
use std::sync::Arc;

impl Compared<'_> {
    /// A condition on entries of the index, before rows are fetched, and one on rows.
    pub fn conditions(&self, draw: &mut Random) -> Verdict {
        let all: Vec<usize> = (0..self.model.schema.columns.len()).collect();
        let layout = self.table.tree(self.index).layout();
        let own: Vec<usize> = all.iter().copied().filter(|column| layout.covers(&[*column])).collect();
        if own.is_empty() {
            return Ok(());
        }
        let condition = |column: usize| {
            let types = vec![self.model.schema.columns[column].clone()];
            Arc::new(EvenOnes { columns: vec![column], types, ranges: Vec::new() })
        };
        let (on_entries, on_rows) = (*draw.pick(&own), *draw.pick(&all));
        let reverse = draw.one_in(2);
        let request = self.request(&all, reverse, draw);
        let got = self.scan(ScanRequest {
            index_filter: Some(condition(on_entries)),
            filter: Some(condition(on_rows)),
            ..request
        })?;
        let keeps = |row: &Row, column: usize| even(&row.values[column]) == Some(true);
        let want = self.rows_that(&all, reverse, |row| keeps(row, on_entries) && keeps(row, on_rows));
        let what = || format!("index {}, conditions on {on_entries} and {on_rows}, reverse {reverse}", self.index);
        same_rows(&got, &want, what)
    }

    /// A scan of the whole index for one value of one of its parts.
    pub fn steered(&self, draw: &mut Random) -> Verdict {
        let declared = &self.model.schema.indexes[self.index].parts;
        if declared.is_empty() || declared.iter().any(|part| part.prefix.is_some()) || self.order.is_empty() {
            return Ok(());
        }
        let number = draw.below(declared.len());
        let like = draw.pick(&self.order);
        let value = like.1.values[declared[number].column].clone();
        if value == Value::Null {
            return Ok(());
        }
        let parts = (0..=number).map(|part| (part == number).then(|| vec![KeyInterval::point(value.clone())]));
        let steering = Steering { parts: parts.collect() };
        let all: Vec<usize> = (0..self.model.schema.columns.len()).collect();
        let reverse = draw.one_in(2);
        let got = self.scan(ScanRequest { steering, ..self.request(&all, reverse, draw) })?;
        let mut want = self.values(&all, |entry| entry[number] == like.0[number]);
        if reverse {
            want.reverse();
        }
        same_rows(&got, &want, || format!("index {}, part {number} is {value:?}, reverse {reverse}", self.index))
    }

    /// The first row of each combination of some leading parts.
    pub fn first_of_groups(&self, draw: &mut Random) -> Verdict {
        let declared = &self.model.schema.indexes[self.index].parts;
        if declared.is_empty() || declared.iter().any(|part| part.prefix.is_some()) {
            return Ok(());
        }
        let (parts, reverse) = (1 + draw.below(declared.len()), draw.one_in(2));
        let columns: Vec<usize> = declared.iter().map(|part| part.column).collect();
        let request = ScanRequest { distinct_prefix: Some(parts), ..self.request(&columns, reverse, draw) };
        let got = self.scan(request)?;
        let mut order: Vec<_> = self.order.iter().collect();
        if reverse {
            order.reverse();
        }
        order.dedup_by(|next, first| next.0[..parts] == first.0[..parts]);
        let values = |row: &Row| columns.iter().map(|c| row.values[*c].clone()).collect::<Vec<_>>();
        let want: Vec<_> = order.into_iter().map(|(_, row)| values(row)).collect();
        same_rows(&got, &want, || format!("index {}, groups of {parts} parts, reverse {reverse}", self.index))
    }

    /// Columns of the rows that are kept, in the order of reading.
    fn rows_that(&self, columns: &[usize], reverse: bool, keep: impl Fn(&Row) -> bool) -> Vec<Vec<Value>> {
        let rows = self.order.iter().filter(|(_, row)| keep(row));
        let mut rows: Vec<Vec<Value>> =
            rows.map(|(_, row)| columns.iter().map(|c| row.values[*c].clone()).collect()).collect();
        if reverse {
            rows.reverse();
        }
        rows
    }
}
