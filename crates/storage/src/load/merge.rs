//! K-way merge of sorted runs, in several passes when there are more runs than one merge may read.

use super::{
    run_file::{Record, RunReader, RunWriter, SortedRun},
    sort::{SortOptions, prefix_of},
};
use crate::Result;
use std::cmp::Ordering;

/// Records merged between two looks at the cancel flag.
const CANCEL_CHECK_RECORDS: u64 = 1 << 14;

struct MergeSource {
    reader: RunReader,
    prefix: u64,
}

/// A merge under way: a heap of run numbers, the one with the smallest record on top. Equal records come from the
/// earlier run first.
pub(super) struct Merge {
    sources: Vec<MergeSource>,
    heap: Vec<usize>,
    /// True if the record on top was handed out already.
    taken: bool,
}

impl Merge {
    /// Merges runs, which stand in order of arrival; makes fewer of them first if they are too many.
    pub fn of_runs(mut runs: Vec<SortedRun>, options: &SortOptions) -> Result<Merge> {
        let fan_in = options.fan_in();
        while runs.len() > fan_in {
            // Neighbours are merged, so that earlier records stay in earlier runs.
            let mut fewer = Vec::with_capacity(runs.len().div_ceil(fan_in));
            let mut rest = runs.into_iter().peekable();
            while rest.peek().is_some() {
                let mut merge = Merge::new(rest.by_ref().take(fan_in).collect())?;
                let mut writer = RunWriter::create(&options.temp_dir, options.block_bytes())?;
                let mut n = 0u64;
                while let Some(record) = merge.next()? {
                    writer.push(&record)?;
                    n += 1;
                    if n.is_multiple_of(CANCEL_CHECK_RECORDS) {
                        options.check_cancelled()?;
                    }
                }
                fewer.push(writer.finish()?);
            }
            runs = fewer;
        }
        Merge::new(runs)
    }

    fn new(runs: Vec<SortedRun>) -> Result<Merge> {
        let mut merge = Merge { sources: Vec::with_capacity(runs.len()), heap: Vec::new(), taken: false };
        for run in runs {
            let mut reader = RunReader::new(run);
            if reader.advance()? {
                let prefix = prefix_of(reader.record().key);
                merge.heap.push(merge.sources.len());
                merge.sources.push(MergeSource { reader, prefix });
            }
        }
        for i in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(i);
        }
        Ok(merge)
    }

    /// The next record, `None` at the end.
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        if self.taken {
            let source = &mut self.sources[self.heap[0]];
            if source.reader.advance()? {
                source.prefix = prefix_of(source.reader.record().key);
            } else {
                self.heap.swap_remove(0);
            }
            if !self.heap.is_empty() {
                self.sift_down(0);
            }
        }
        self.taken = !self.heap.is_empty();
        Ok(self.heap.first().map(|&top| self.sources[top].reader.record()))
    }

    fn before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.sources[a], &self.sources[b]);
        let order =
            x.prefix.cmp(&y.prefix).then_with(|| x.reader.record().key.cmp(y.reader.record().key)).then(a.cmp(&b));
        order == Ordering::Less
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}
