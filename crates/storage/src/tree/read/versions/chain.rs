//! Versions of a row before its newest one: a chain of undo records.

use super::{Before, BeforeRow, Seen};
use crate::{
    ReadView, Result, StorageError,
    tree::{
        btree::Tree,
        page::leaf::{BadPage, slot::Version},
        read::by_key::Pages,
    },
};

/// Undo records that are looked at for a row by who may not wait.
const STEPS_AT_ONCE: usize = 32;

impl Tree {
    /// The version that a view sees of a row of this clustered tree whose newest version, which the view does not see,
    /// is given, as its record. Errors: `SnapshotTooOld`, and those of reading the log.
    pub(super) fn seen_before(
        &self,
        newest: Version,
        record: Vec<u8>,
        view: &ReadView,
        pages: &Pages<'_>,
    ) -> Result<Seen> {
        if let Some(seen) = self.last_version.get(newest.roll_pointer, view) {
            return Ok(seen);
        }
        let mut steps = 0;
        let seen = self.walk_back(newest, record, view, pages, &mut steps)?;
        self.last_version.keep(newest.roll_pointer, view, &seen, steps);
        Ok(seen)
    }

    /// The same, from the undo records. Counts those that it looks at.
    fn walk_back(
        &self,
        newest: Version,
        mut record: Vec<u8>,
        view: &ReadView,
        pages: &Pages<'_>,
        steps: &mut usize,
    ) -> Result<Seen> {
        let may_wait = matches!(pages, Pages::All(_));
        let mut at = newest.roll_pointer;
        while at != 0 {
            if !may_wait && *steps == STEPS_AT_ONCE {
                return Ok(Seen::MustWait);
            }
            *steps += 1;
            let undo = self.history.get().and_then(|history| history.undo.as_ref());
            let before = undo.ok_or(StorageError::SnapshotTooOld)?.before(at, may_wait)?;
            let Some(Before { version, marked, row, skips, layout }) = before else {
                return Ok(Seen::MustWait);
            };
            // All views that may read the table see what was before the newest row layout.
            if layout != self.layout.number && row != BeforeRow::None {
                return Err(StorageError::SnapshotTooOld);
            }
            record = match row {
                BeforeRow::None => return Ok(Seen::Nothing),
                BeforeRow::Record(record) => record,
                BeforeRow::Patch(patch) => self.patched(&patch, &record)?,
            };
            if view.sees(version.trx_id) {
                return Ok(if marked { Seen::Nothing } else { Seen::Row(record) });
            }
            // As far back as all versions in between are unseen, too.
            let skip = skips.iter().rev().find(|skip| !view.sees(skip.trx_id));
            let next = skip.map_or(version.roll_pointer, |skip| skip.at);
            if next >= at {
                return Err(self.corrupt(0, BadPage("a version is older than the one before it")));
            }
            at = next;
        }
        // Nobody can have seen what was before.
        Ok(Seen::Nothing)
    }

    /// The record of a row with the values of a patch in the place of its own.
    pub(crate) fn patched(&self, patch: &[u8], record: &[u8]) -> Result<Vec<u8>> {
        self.layout.record.patched(patch, Some(record)).map_err(|e| self.corrupt(0, e))
    }

    /// The record of a row of which a patch is known, in the patch's row layout; its other values are NULL.
    pub(crate) fn record_of_patch(&self, layout: u32, patch: &[u8]) -> Result<Vec<u8>> {
        let layout = self.layout.numbered(layout);
        layout.and_then(|layout| layout.record.patched(patch, None)).map_err(|e| self.corrupt(0, e))
    }

    /// The record of the newest row layout that a record of another one is.
    pub(crate) fn newest_record(&self, layout: u32, record: Vec<u8>) -> Result<Vec<u8>> {
        self.layout.newest_record(layout, record).map_err(|e| self.corrupt(0, e))
    }
}
