//! Leaves that have rested: their slots become part of their base, so that scans of them cost what they cost before the
//! changes. No row changes, nor what a view sees.

use crate::tree::btree::Tree;
use crate::{
    Counters, Result,
    page::{PageHeader, PageType},
};

impl Tree {
    /// Encodes a leaf anew that nobody has changed for a while, as a group of its own. Returns whether it did: it
    /// leaves alone what is no leaf any more or not in memory, and leaves that would not lose a slot or a record. One
    /// of whose slots some transaction may still be needed is noted again. Waits for room in the log and for the page,
    /// so nothing may be latched. Errors: `Corrupt`, `DiskFull`, `LogFull`, I/O.
    pub(crate) fn encode_rested(&self, page_no: u32, counters: &Counters) -> Result<bool> {
        if self.file.is_deleted() || !self.pool.is_resident(&self.file, page_no) {
            return Ok(false);
        }
        let room = self.room()?;
        let page = self.pool.fetch_mut(&self.file, page_no, counters)?;
        if PageHeader(&page).page_type() != Some(PageType::Leaf) {
            return Ok(false);
        }
        let corrupt = |e| self.corrupt(page_no, e);
        let horizon = if self.probe.forgets_horizon() { u64::MAX } else { self.horizon() };
        let mut gains = false;
        for slot in self.leaf(&page)?.slots().iter() {
            let slot = slot.map_err(corrupt)?;
            if slot.version.trx_id >= horizon {
                page.note_changed();
                return Ok(false);
            }
            gains |= !slot.marked || slot.kind.has_record();
        }
        let Some(renewed) = (if gains { self.renewed(&page, horizon, counters)? } else { None }) else {
            return Ok(false);
        };
        // Only a change of rows frees pages of long values: a check of the table keeps changes away, not the encoder.
        if !renewed.gone.is_empty() {
            return Ok(false);
        }
        self.put_renewed(page, renewed, room, counters);
        Ok(true)
    }
}
