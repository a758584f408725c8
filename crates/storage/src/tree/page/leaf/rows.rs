//! Rows of one leaf, by their row numbers, in the forms that decode them fastest.
//!
//! Rows of the base are decoded in loops over neighbours or over lists. Rows that lie in records are decoded one by
//! one: where there are few of them among rows of the base, others are decoded in their place first, so that the loops
//! stay whole.

use super::column::Column;
use std::ops::Range;

/// Runs of rows that are shorter than this, on average, are decoded row by row.
const RUN_ROWS_MIN: usize = 8;

/// Rows of one leaf, in the order they are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowSelection {
    /// Neighbours of the base.
    Range(Range<usize>),
    /// Rows of the base, in any order.
    List(Vec<u16>),
    /// Rows of the base and of records, or of the base in several runs.
    Mixed(Box<MixedRows>),
}

/// Rows of which not all are neighbours of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedRows {
    /// The rows wanted.
    numbers: Vec<u16>,
    /// Rows of the base that are decoded: one for each of the rows, or what the runs are taken from.
    base: RowSelection,
    /// Runs of wanted rows of `base`, one behind the other; runs may overlap. Empty if all rows are wanted. In the
    /// place of a row that lies in a record is any row of the base.
    runs: Vec<Range<usize>>,
    /// Places in `numbers` of rows that lie in records.
    records: Vec<u16>,
    /// Rows that are replaced or patched stand in the places of their rows of the base.
    in_place: bool,
    base_rows: usize,
}

impl RowSelection {
    /// Rows with these numbers in a leaf whose base has `base_rows`.
    pub fn of(numbers: Vec<u16>, base_rows: usize) -> RowSelection {
        let in_record = |row: &u16| usize::from(*row) >= base_rows;
        if !numbers.iter().any(in_record) {
            let neighbours = numbers.len() > 1 && numbers.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
            return match (neighbours, numbers.first()) {
                // Neighbours are decoded faster as such.
                (true, Some(first)) => RowSelection::Range(usize::from(*first)..usize::from(*first) + numbers.len()),
                _ => RowSelection::List(numbers),
            };
        }
        let records = (0..numbers.len()).filter(|i| in_record(&numbers[*i])).map(|i| i as u16).collect();
        let base = numbers.iter().map(|row| if in_record(row) { 0 } else { *row }).collect();
        let (base, runs, in_place) = (RowSelection::List(base), Vec::new(), false);
        RowSelection::Mixed(Box::new(MixedRows { numbers, base, runs, records, in_place, base_rows }))
    }

    /// The rows of the base that are decoded for these.
    pub fn decoded(&self) -> &RowSelection {
        match self {
            RowSelection::Range(_) | RowSelection::List(_) => self,
            RowSelection::Mixed(mixed) => &mixed.base,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            RowSelection::Range(range) => range.len(),
            RowSelection::List(list) => list.len(),
            RowSelection::Mixed(mixed) => mixed.numbers.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The i-th of the rows.
    pub fn get(&self, i: usize) -> usize {
        match self {
            RowSelection::Range(range) => range.start + i,
            RowSelection::List(list) => list[i] as usize,
            RowSelection::Mixed(mixed) => mixed.numbers[i] as usize,
        }
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Returns the rows whose places among these are in `keep`.
    pub fn pick(&self, keep: impl Iterator<Item = usize>) -> RowSelection {
        let mut list = Vec::with_capacity(self.len());
        list.extend(keep.map(|i| self.get(i) as u16));
        match self {
            RowSelection::Range(_) | RowSelection::List(_) => RowSelection::List(list),
            RowSelection::Mixed(mixed) => mixed.pick(list),
        }
    }

    /// The same rows, last one first.
    pub fn reversed(&self) -> RowSelection {
        self.pick((0..self.len()).rev())
    }
}

impl MixedRows {
    /// The places of rows whose value of a column is not the one that is decoded in their place, and their numbers.
    pub fn outside<'r>(&'r self, column: &'r Column<'_>) -> impl Iterator<Item = (usize, usize)> + 'r {
        let rows = self.records.iter().map(|i| (usize::from(*i), usize::from(self.numbers[usize::from(*i)])));
        rows.filter(move |(_, row)| !(self.in_place && column.is_of_base(*row)))
    }

    /// Some of the rows, by their numbers: in runs still, if most are picked.
    fn pick(&self, picked: Vec<u16>) -> RowSelection {
        if self.runs.is_empty() && matches!(self.base, RowSelection::List(_)) || 2 * picked.len() < self.numbers.len() {
            return RowSelection::of(picked, self.base_rows);
        }
        let mut rows = RowsBuilder::new(self.base_rows, picked.len());
        for number in picked.into_iter().map(usize::from) {
            match number < self.base_rows {
                true => rows.base(number..number + 1),
                false => rows.inserted(number),
            }
        }
        // Of a row that is patched the number alone is known here.
        rows.in_place = false;
        rows.finish()
    }

    /// Puts what was decoded where its row is among these: the values from `start` on are those of the rows of
    /// [`RowSelection::decoded`]. Values of rows that lie in records are still missing.
    pub fn arrange<T: Copy>(&self, values: &mut Vec<T>, start: usize) {
        let RowSelection::Range(span) = &self.base else { return };
        if !self.runs.is_empty() {
            // In place, since this is done for each column of each leaf.
            for run in &self.runs {
                values.extend_from_within(start + run.start - span.start..start + run.end - span.start);
            }
            values.drain(start..start + span.len());
        }
    }
}

/// Collects rows of a leaf in the order of their keys.
pub(super) struct RowsBuilder {
    base_rows: usize,
    numbers: Vec<u16>,
    runs: Vec<Range<usize>>,
    records: Vec<u16>,
    in_place: bool,
}

impl RowsBuilder {
    pub fn new(base_rows: usize, room: usize) -> RowsBuilder {
        let numbers = Vec::with_capacity(room);
        RowsBuilder { base_rows, numbers, runs: Vec::new(), records: Vec::new(), in_place: true }
    }

    /// Adds neighbours of the base.
    pub fn base(&mut self, rows: Range<usize>) {
        if !rows.is_empty() {
            self.numbers.extend(rows.start as u16..rows.end as u16);
            self.run(rows);
        }
    }

    /// Adds a row that lies in a record or a patch, in the place of its row of the base.
    pub fn replaced(&mut self, row: usize, number: usize) {
        self.record(number);
        self.run(row..row + 1);
    }

    /// Adds a row that lies in a record and that the base does not have.
    pub fn inserted(&mut self, number: usize) {
        self.record(number);
        // Any row of the base stands in: the next one makes no new run.
        match self.runs.last_mut() {
            Some(run) if run.end < self.base_rows => run.end += 1,
            _ => self.runs.push(0..1),
        }
    }

    fn record(&mut self, number: usize) {
        self.records.push(self.numbers.len() as u16);
        self.numbers.push(number as u16);
    }

    fn run(&mut self, rows: Range<usize>) {
        match self.runs.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => self.runs.push(rows),
        }
    }

    pub fn finish(self) -> RowSelection {
        let RowsBuilder { base_rows, numbers, mut runs, records, in_place } = self;
        if records.is_empty() && runs.len() <= 1 {
            return RowSelection::Range(runs.pop().unwrap_or(0..0));
        }
        if base_rows == 0 || runs.len() * RUN_ROWS_MIN > numbers.len() {
            return RowSelection::of(numbers, base_rows);
        }
        let starts = runs.iter().map(|run| run.start).min().unwrap_or(0);
        let ends = runs.iter().map(|run| run.end).max().unwrap_or(0);
        if runs.len() == 1 {
            runs.clear();
        }
        let base = RowSelection::Range(starts..ends);
        RowSelection::Mixed(Box::new(MixedRows { numbers, base, runs, records, in_place, base_rows }))
    }
}
