//! Pages for redo: they may be damaged or not be there yet, if the log has all of their content.

use super::{BufferPool, PageGuardMut, frames::PageKey};
use crate::{Counters, Result, counters::Counter, file::PageFile, io::ReadOp, page};
use std::sync::Arc;

/// A page, latched for redo.
pub struct PageForRedo {
    pub page: PageGuardMut,
    /// Why the page on the disk is none, if it is not: then its bytes are zeros.
    pub missing: Option<crate::StorageError>,
}

impl BufferPool {
    /// A page for redo, read unless it is in memory. Only one thread may do so, and nobody else may use the file.
    /// Errors: `NoFreeFrame`, I/O other than a file that is too short.
    pub fn page_for_redo(
        self: &Arc<Self>,
        file: &Arc<PageFile>,
        page_no: u32,
        counters: &Counters,
    ) -> Result<PageForRedo> {
        if self.is_resident(file, page_no) {
            return Ok(PageForRedo { page: self.latch_mut(file, page_no, counters)?, missing: None });
        }
        let frame = self.take_frame(counters)?;
        let mapped = self.map(file, PageKey::new(file.id(), page_no), frame);
        assert!(mapped, "redo is the only user of the pool");
        counters.add(Counter::pages_read, 1);
        // SAFETY: the frame is latched exclusively by `take_frame`, and this is the only use of its bytes.
        let bytes = unsafe { self.frames.bytes_mut(frame) };
        let read = {
            let mut ops = [ReadOp::new(file.io_file(), file.offset(page_no), vec![&mut *bytes])];
            self.io.read(&mut ops);
            let [op] = ops;
            op.result
        };
        let found = match read {
            Err(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => {
                self.unmap(frame);
                self.give_back(frame);
                return Err(file.error(e));
            }
            Err(e) => Err(file.error(e)),
            Ok(()) => page::verify(bytes, file.path(), page_no, file.index_id()),
        };
        self.replacement.insert(&self.frames, frame, self.is_filling());
        if found.is_err() {
            bytes.fill(0);
        }
        Ok(PageForRedo { page: PageGuardMut::new(Arc::clone(self), frame), missing: found.err() })
    }
}
