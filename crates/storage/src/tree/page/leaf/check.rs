//! Whether the slots and records of a leaf are what they should be.

use super::{BadPage, Leaf, changes::Areas, record::record_at};

impl Leaf<'_> {
    /// Checks that the slots are in order, that each record belongs to one slot, and that all other bytes among the
    /// records are known to be free.
    pub fn check_changes(&self) -> Result<(), BadPage> {
        self.all_rows()?;
        let areas = Areas::of(self.page())?;
        let mut records = Vec::with_capacity(self.slots().len());
        for (number, slot) in self.slots().iter().enumerate() {
            let slot = slot?;
            if slot.kind.has_record() {
                let start = self.slots().record(number);
                records.push(start..start + record_at(self.page(), start)?.len());
            }
            if slot.version.trx_id > self.max_trx_id() {
                return Err(BadPage("a slot of a later transaction than the page's"));
            }
        }
        records.sort_unstable_by_key(|record| record.start);
        let inside = records.iter().all(|record| record.start >= areas.records && record.end <= areas.records_end);
        if !inside || records.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err(BadPage("records overlap"));
        }
        match records.iter().map(ExactSizeIterator::len).sum::<usize>() + areas.dead {
            bytes if bytes == areas.records_end - areas.records => Ok(()),
            _ => Err(BadPage("bytes of records that are not accounted for")),
        }
    }
}
