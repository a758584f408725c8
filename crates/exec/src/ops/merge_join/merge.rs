//! Goes along both inputs and finds the rows whose keys are equal.

use super::{
    MergeJoinSpec,
    group::{Group, GroupReader, GroupWriter},
    keys::{KeyMaker, Keys},
    pairs::Pairs,
};
use crate::expr::Physical;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use arrow_select::filter::{filter, filter_record_batch};
use datafusion_common::{Result, internal_err};
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use futures::StreamExt;
use muster_algebra::JoinKind;
use std::{cmp::Ordering, ops::Range, sync::Arc};

/// A batch with its keys.
struct Chunk {
    batch: RecordBatch,
    keys: Keys,
    /// Rows without NULL in their key; `None`: all.
    valid: Option<BooleanBuffer>,
}

/// An input, and where it stands.
struct Side {
    /// Until it has ended.
    input: Option<SendableRecordBatchStream>,
    exprs: Vec<Physical>,
    drop_nulls: bool,
    chunk: Option<Chunk>,
    at: usize,
}

impl Side {
    fn rows(&self) -> usize {
        self.chunk.as_ref().map_or(0, |c| c.batch.num_rows())
    }

    /// Goes to the next batch; whether there is one.
    async fn fetch(&mut self, maker: &KeyMaker) -> Result<bool> {
        (self.chunk, self.at) = (None, 0);
        while let Some(input) = &mut self.input {
            let Some(mut batch) = input.next().await.transpose()? else {
                self.input = None;
                break;
            };
            let parts = self.exprs.iter().map(|e| e.evaluate(&batch)?.into_array(batch.num_rows()));
            let mut parts: Vec<ArrayRef> = parts.collect::<Result<_>>()?;
            let (mut keys, mut valid) = maker.keys(&parts)?;
            if let (true, Some(mask)) = (self.drop_nulls, &valid) {
                let mask = BooleanArray::new(mask.clone(), None);
                batch = filter_record_batch(&batch, &mask)?;
                parts = parts.iter().map(|p| filter(p, &mask)).collect::<Result<_, _>>()?;
                (keys, valid) = maker.keys(&parts)?;
            }
            if batch.num_rows() == 0 {
                continue;
            }
            if !keys.ascend(valid.as_ref()) {
                return internal_err!("rows for a merge join are not in the order of its keys");
            }
            self.chunk = Some(Chunk { batch, keys, valid });
            return Ok(true);
        }
        Ok(false)
    }
}

/// Left rows that each go with all of some right rows.
struct Rectangle {
    left: Range<usize>,
    right: Range<usize>,
    /// The next right row of the first left row.
    next: usize,
    /// The positions of both sides when it is done.
    then: (usize, usize),
}

/// Right rows of a key that left rows of several batches have.
struct Repeated {
    group: Group,
    /// While the left rows of one batch are paired.
    reader: Option<GroupReader>,
    /// The batch of right rows that is being paired.
    part: Option<RecordBatch>,
    /// Keys of the left batch before, whose last one is the group's.
    key: Option<Keys>,
}

/// See the module.
pub struct Merge {
    spec: Arc<MergeJoinSpec>,
    maker: KeyMaker,
    left: Side,
    right: Side,
    pairs: Pairs,
    rectangle: Option<Rectangle>,
    /// End of the left group that may have partners in the next right batch too.
    open_end: Option<usize>,
    repeated: Option<Repeated>,
    memory: MemoryReservation,
    batch_rows: usize,
    ended: bool,
}

impl Merge {
    /// `schema`: of the result; `memory`: an empty reservation of a consumer that can spill; `batch_rows`: of results.
    pub fn new(
        spec: Arc<MergeJoinSpec>,
        schema: SchemaRef,
        inputs: [SendableRecordBatchStream; 2],
        memory: MemoryReservation,
        batch_rows: usize,
    ) -> Result<Merge> {
        let [left, right] = inputs;
        let types = spec.keys.iter().map(|(key, _)| key.data_type(&left.schema()));
        let maker = KeyMaker::new(&types.collect::<Result<Vec<_>>>()?)?;
        let side = |input, exprs, drop_nulls| Side { input: Some(input), exprs, drop_nulls, chunk: None, at: 0 };
        let (left_keys, right_keys) = spec.keys.iter().cloned().unzip();
        Ok(Merge {
            left: side(left, left_keys, false),
            right: side(right, right_keys, true),
            pairs: Pairs::new(spec.clone(), schema),
            maker,
            spec,
            rectangle: None,
            open_end: None,
            repeated: None,
            memory,
            batch_rows,
            ended: false,
        })
    }

    /// The next rows. Errors: those of the inputs and of the file system.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while !self.ended {
            let rows = if self.rectangle.is_some() {
                self.fill()?
            } else if self.repeated.is_some() {
                self.repeat().await?
            } else if self.left.at == self.left.rows() {
                self.next_left().await?
            } else if self.right.at == self.right.rows() {
                self.next_right().await?
            } else if self.pairs.len() >= self.batch_rows {
                self.flush()?
            } else {
                self.walk().await?
            };
            if rows.is_some() {
                return Ok(rows);
            }
        }
        Ok(None)
    }

    /// The rows that the pairs make.
    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        let Some(left) = &self.left.chunk else { return Ok(None) };
        let right = match &self.repeated {
            Some(repeated) => repeated.part.as_ref(),
            None => self.right.chunk.as_ref().map(|c| &c.batch),
        };
        self.pairs.take(&left.batch, right, self.left.at)
    }

    /// Pairs of a rectangle, a batch at most.
    fn fill(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(r) = &mut self.rectangle {
            let Some(room) = self.batch_rows.checked_sub(self.pairs.len()).filter(|room| *room > 0) else {
                return self.flush();
            };
            let end = r.right.end.min(r.next + room);
            self.pairs.add(r.left.start, r.next..end);
            r.next = end;
            if end == r.right.end {
                r.left.start += 1;
                r.next = r.right.start;
                if r.left.is_empty() {
                    (self.left.at, self.right.at) = r.then;
                    self.rectangle = None;
                }
            }
        }
        Ok(None)
    }

    async fn next_left(&mut self) -> Result<Option<RecordBatch>> {
        let rows = self.flush()?;
        if self.left.fetch(&self.maker).await? {
            self.pairs.begin(self.left.rows());
        } else {
            self.ended = true;
        }
        Ok(rows)
    }

    async fn next_right(&mut self) -> Result<Option<RecordBatch>> {
        let rows = self.flush()?;
        let more = self.right.fetch(&self.maker).await?;
        let goes_on = match (&self.left.chunk, &self.right.chunk) {
            (Some(left), Some(right)) => left.keys.compare(self.left.at, &right.keys, 0).is_eq(),
            _ => false,
        };
        if !goes_on && let Some(end) = self.open_end.take() {
            self.left.at = end;
        }
        if !more {
            // No left row has a partner any more.
            self.left.at = self.left.rows();
            if matches!(self.spec.kind, JoinKind::Inner | JoinKind::Semi) {
                self.left.input = None;
            }
        }
        Ok(rows)
    }

    /// Finds pairs until one of the batches ends, or there are enough.
    async fn walk(&mut self) -> Result<Option<RecordBatch>> {
        let (Some(left), Some(right)) = (&self.left.chunk, &self.right.chunk) else { return Ok(None) };
        let (left_rows, right_rows) = (left.batch.num_rows(), right.batch.num_rows());
        let (mut i, mut j) = (self.left.at, self.right.at);
        if let Some(marks) = self.pairs.marks() {
            (self.left.at, self.right.at) = left.keys.mark(&right.keys, (i, j), left.valid.as_ref(), marks);
            return Ok(None);
        }
        while i < left_rows && j < right_rows && self.pairs.len() < self.batch_rows {
            if left.valid.as_ref().is_some_and(|valid| !valid.value(i)) {
                i += 1;
                continue;
            }
            match left.keys.compare(i, &right.keys, j) {
                // No right row that is to come is equal either.
                Ordering::Less => i = self.open_end.take().unwrap_or_else(|| left.keys.seek(i + 1, &right.keys, j)),
                Ordering::Greater => j = right.keys.seek(j + 1, &left.keys, i),
                Ordering::Equal => {
                    let i_end = self.open_end.take().unwrap_or_else(|| left.keys.group_end(i));
                    let j_end = right.keys.group_end(j);
                    let (left_goes_on, right_goes_on) = (i_end == left_rows, j_end == right_rows);
                    if left_goes_on && right_goes_on {
                        (self.left.at, self.right.at) = (i, j);
                        return self.collect().await;
                    }
                    // The next row of one side may have the same key: the other side stays at its place.
                    let next = (if right_goes_on { i } else { i_end }, if left_goes_on { j } else { j_end });
                    self.open_end = right_goes_on.then_some(i_end);
                    if (i_end - i) * (j_end - j) > self.batch_rows {
                        let (left, right) = (i..i_end, j..j_end);
                        self.rectangle = Some(Rectangle { left, right, next: j, then: next });
                        break;
                    }
                    (i..i_end).for_each(|row| self.pairs.add(row, j..j_end));
                    (i, j) = next;
                }
            }
        }
        (self.left.at, self.right.at) = (i, j);
        Ok(None)
    }

    /// Keeps the right rows of the left row's key, which may go on in the next batches of both sides.
    async fn collect(&mut self) -> Result<Option<RecordBatch>> {
        let rows = self.flush()?;
        let mut writer = GroupWriter::new(&self.spec.space, &self.memory);
        let Some(left) = &self.left.chunk else { return Ok(rows) };
        while let Some(right) = &self.right.chunk {
            if left.keys.compare(self.left.at, &right.keys, self.right.at).is_ne() {
                break;
            }
            let end = right.keys.group_end(self.right.at);
            writer.add(&right.batch.slice(self.right.at, end - self.right.at))?;
            self.right.at = end;
            if end < right.batch.num_rows() {
                break;
            }
            self.right.fetch(&self.maker).await?;
        }
        self.repeated = Some(Repeated { group: writer.finish()?, reader: None, part: None, key: None });
        Ok(rows)
    }

    /// The next step of pairing left rows with the rows that are repeated for them.
    async fn repeat(&mut self) -> Result<Option<RecordBatch>> {
        let rows = self.flush()?;
        let Some(repeated) = &mut self.repeated else { return Ok(rows) };
        let left_rows = self.left.rows();
        if let Some(reader) = &mut repeated.reader {
            let end = match &self.left.chunk {
                Some(left) => left.keys.group_end(self.left.at),
                None => 0,
            };
            repeated.part = reader.next()?;
            match &repeated.part {
                Some(part) => {
                    let right = 0..part.num_rows();
                    let then = (self.left.at, self.right.at);
                    self.rectangle = Some(Rectangle { left: self.left.at..end, right, next: 0, then });
                }
                None => {
                    self.left.at = end;
                    if end < left_rows {
                        self.end_repetition();
                    } else {
                        repeated.reader = None;
                    }
                }
            }
            return Ok(rows);
        }
        if self.left.at < left_rows {
            repeated.reader = Some(repeated.group.read()?);
            return Ok(rows);
        }
        repeated.key = self.left.chunk.take().map(|left| left.keys);
        if !self.left.fetch(&self.maker).await? {
            self.end_repetition();
            return Ok(rows);
        }
        self.pairs.begin(self.left.rows());
        if let (Some(left), Some(key)) = (&self.left.chunk, &repeated.key)
            && key.compare(key.len() - 1, &left.keys, 0).is_ne()
        {
            self.end_repetition();
        }
        Ok(rows)
    }

    fn end_repetition(&mut self) {
        self.repeated = None;
        self.memory.free();
    }
}
