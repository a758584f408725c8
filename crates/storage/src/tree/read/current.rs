//! The newest version of a row, committed or not: for those who change it, and for who undoes or removes changes.

use super::descent::DescentTarget;
use crate::tree::{
    btree::{Tree, TreeOverflow},
    page::{
        block::{ColumnBlock, OverflowPointer, RowBlock},
        leaf::{BadPage, decode::OverflowReader, slot::Version},
    },
};
use crate::{Counters, Result, file::ROOT_PAGE};
use muster_types::Value;

/// The newest version of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurrentRow {
    pub version: Version,
    pub marked: bool,
    pub record: Vec<u8>,
}

impl Tree {
    /// The row with this whole key, marked or not.
    pub(crate) fn current(&self, key: &[u8], counters: &Counters) -> Result<Option<CurrentRow>> {
        let page = self.descend(DescentTarget::Key(key), 0, counters)?;
        let corrupt = |e: BadPage| self.corrupt(page.page_no(), e);
        let leaf = self.leaf(&page)?;
        let found = leaf.find(&self.layout, key).map_err(corrupt)?;
        if !found.exact {
            return Ok(None);
        }
        let slot = leaf.slot_at(found.position).map_err(corrupt)?;
        let (version, marked) = slot.map_or((Version::default(), false), |slot| (slot.version, slot.marked));
        let record = leaf.record_of(&self.layout, found.position).map_err(corrupt)?.into_owned();
        Ok(Some(CurrentRow { version, marked, record }))
    }

    /// The values of the stored columns in a record that are wanted, long ones read from their pages; NULL for the
    /// others.
    pub(crate) fn some_values_of_record(
        &self,
        record: &[u8],
        is_wanted: impl Fn(usize) -> bool,
        counters: &Counters,
    ) -> Result<Vec<Value>> {
        let reader = TreeOverflow { tree: self, view: None, counters };
        let mut values = Vec::with_capacity(self.layout.columns.len());
        for (number, stored) in self.layout.columns.iter().enumerate() {
            if !is_wanted(number) {
                values.push(Value::Null);
                continue;
            }
            let mut column = ColumnBlock::new(stored.physical);
            let appended = self.layout.record.append_column(record, number, &mut column);
            appended.map_err(|e| self.corrupt(ROOT_PAGE, e))?;
            let long = match column.is_overflow(0) {
                true => OverflowPointer::from_bytes(column.bytes(0)).map(|p| reader.read(p)).transpose()?,
                false => None,
            };
            values.push(column.value(0, &stored.ty, long));
        }
        Ok(values)
    }

    /// The row of a record of some row layout.
    pub(in crate::tree) fn block_of_record(&self, layout: u32, record: &[u8]) -> Result<RowBlock> {
        let block = self.layout.numbered(layout).and_then(|layout| {
            let mut block = RowBlock::new(layout);
            layout.record.append_to(record, &mut block).map(|()| block)
        });
        block.map_err(|e| self.corrupt(ROOT_PAGE, e))
    }
}
