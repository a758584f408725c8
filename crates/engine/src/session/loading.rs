//! Batches and files of embedding programs, loaded as statements without a text.

use super::state::SessionState;
use crate::loading;
use crate::processes::Begun;
use arrow_array::RecordBatch;
use muster_storage::LoadProgress;
use muster_types::Result;
use std::{path::Path, sync::Arc};

impl SessionState {
    pub fn load_batches(
        &mut self,
        table: &str,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        progress: Arc<LoadProgress>,
        begun: Begun,
    ) -> Result<u64> {
        self.statement_without_text(begun, |context| loading::load_batches(context, table, batches, progress))
    }

    pub fn load_file(&mut self, table: &str, file: &Path, progress: Arc<LoadProgress>, begun: Begun) -> Result<u64> {
        self.statement_without_text(begun, |context| loading::load_file(context, table, file, progress))
    }
}
