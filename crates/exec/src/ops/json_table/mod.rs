//! JSON_TABLE: for each row of the input the rows that its document has.
//!
//! Rows are delivered in batches as the values that the first path leads to are read, so that a long array takes no
//! memory for all of its rows. The rows within one of these values are made together.

mod expand;

use super::{
    only,
    plan_methods::{columns_beside_input, no_expressions},
    unordered_like,
};
use crate::{error::external, expr::Physical, runtime::BATCH_ROWS};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take;
use datafusion_common::Result;
use datafusion_execution::{
    TaskContext,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    stream::RecordBatchStreamAdapter,
};
use expand::{MadeRows, RowPath};
use futures::{StreamExt, TryStreamExt, stream};
use muster_algebra::JsonTable;
use muster_types::{
    ErrorCode, SqlError, SqlType, Value,
    json::{self, JsonPlace, JsonView},
};
use std::{fmt, sync::Arc};

/// Name of the function in messages.
const NAME: &str = "json_table";

/// The table as the operator makes it.
pub struct ExpandedTable {
    rows: RowPath,
    types: Vec<SqlType>,
    document: Physical,
}

impl ExpandedTable {
    /// `types`: those of the columns. Error: an internal one.
    pub fn new(table: &JsonTable, types: Vec<SqlType>, document: Physical) -> muster_types::Result<ExpandedTable> {
        Ok(ExpandedTable { rows: RowPath::of_table(table)?, types, document })
    }
}

/// The operator: the columns of its input, then those of the table.
pub struct JsonTableExec {
    input: Arc<dyn ExecutionPlan>,
    table: Arc<ExpandedTable>,
    /// Rows without rows of a document stay, with NULLs.
    keeps: bool,
    properties: Arc<PlanProperties>,
}

impl JsonTableExec {
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        table: impl Into<Arc<ExpandedTable>>,
        keeps: bool,
    ) -> JsonTableExec {
        let properties = unordered_like(&*input, schema);
        JsonTableExec { input, table: table.into(), keeps, properties }
    }
}

impl DisplayAs for JsonTableExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "JsonTableExec: {} columns", self.table.types.len())
    }
}

impl ExecutionPlan for JsonTableExec {
    fn name(&self) -> &str {
        "JsonTableExec"
    }

    columns_beside_input!();
    no_expressions!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(JsonTableExec::new(only(children)?, self.schema(), self.table.clone(), self.keeps)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let expansion = Expansion {
            input: self.input.execute(partition, context.clone())?,
            table: self.table.clone(),
            keeps: self.keeps,
            schema: self.schema(),
            batch: None,
            memory: MemoryConsumer::new(NAME).register(context.memory_pool()),
        };
        let rows =
            stream::try_unfold(expansion, |mut rows| async move { Ok(rows.next().await?.map(|batch| (batch, rows))) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.boxed())))
    }
}

/// A batch of the input, and how far its documents are read.
struct InputBatch {
    batch: RecordBatch,
    documents: ArrayRef,
    /// The row that is next.
    row: usize,
    /// The document of that row, if its first values have been read already.
    open: Option<OpenDocument>,
}

/// A document, and the values in it that the first path leads to.
struct OpenDocument {
    bytes: Vec<u8>,
    places: Vec<JsonPlace>,
    /// The value that is next.
    next: usize,
}

struct Expansion {
    input: SendableRecordBatchStream,
    table: Arc<ExpandedTable>,
    keeps: bool,
    schema: SchemaRef,
    batch: Option<InputBatch>,
    memory: MemoryReservation,
}

impl Expansion {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match &mut self.batch {
                Some(batch) if batch.row < batch.batch.num_rows() => {
                    let (places, made) = expand(&self.table, batch, self.keeps, &self.memory)?;
                    if made.rows > 0 {
                        return self.delivered(places, made).map(Some);
                    }
                }
                _ => match self.input.try_next().await? {
                    None => return Ok(None),
                    Some(batch) => {
                        let documents = self.table.document.evaluate(&batch)?.into_array(batch.num_rows())?;
                        self.batch = Some(InputBatch { batch, documents, row: 0, open: None });
                    }
                },
            }
        }
    }

    /// The rows that are made, each with the columns of its row of the input.
    fn delivered(&self, places: Vec<u32>, made: MadeRows) -> Result<RecordBatch> {
        let Some(batch) = &self.batch else { return Ok(RecordBatch::new_empty(self.schema.clone())) };
        let (places, rows) = (UInt32Array::from(places), made.rows);
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for column in batch.batch.columns() {
            columns.push(take(column.as_ref(), &places, None)?);
        }
        columns.extend(made.finish(&self.table.types).map_err(external)?);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }
}

/// Makes rows of the documents that are next, until there are enough for a batch. Also the row of the input of each.
fn expand(
    table: &ExpandedTable,
    input: &mut InputBatch,
    keeps: bool,
    memory: &MemoryReservation,
) -> Result<(Vec<u32>, MadeRows)> {
    memory.free();
    let mut made = MadeRows::new(&table.types);
    let mut places = Vec::new();
    let mut values = vec![Value::Null; table.types.len()];
    while input.row < input.batch.num_rows() && made.rows < BATCH_ROWS {
        let mut document = match input.open.take() {
            Some(document) => document,
            None => opened(table, input.documents.as_ref(), input.row)?,
        };
        while document.next < document.places.len() && made.rows < BATCH_ROWS {
            let before = made.bytes;
            let view = JsonView::new(&document.bytes).at(document.places[document.next]);
            document.next += 1;
            table.rows.add_rows(view, document.next as u64, &mut values, &mut made).map_err(external)?;
            memory.try_grow(made.bytes - before)?;
        }
        if document.places.is_empty() && keeps {
            made.push(&values).map_err(external)?;
        }
        places.resize(made.rows, input.row as u32);
        match document.next < document.places.len() {
            true => input.open = Some(document),
            false => input.row += 1,
        }
    }
    Ok((places, made))
}

/// The document of a row; NULL is one without values. Errors: 3141 for a text that is no JSON, 3146 for another type.
fn opened(table: &ExpandedTable, documents: &dyn Array, row: usize) -> Result<OpenDocument> {
    let bytes = match muster_storage::value_at(documents, row).map_err(external)? {
        Value::Null => Vec::new(),
        Value::Json(bytes) => bytes,
        Value::Text(text) => json::parse_to_bytes(&text).map_err(|error| external(error.in_argument(1, NAME)))?,
        _ => return Err(external(no_document())),
    };
    let places = match bytes.is_empty() {
        true => Vec::new(),
        false => {
            let whole = JsonView::new(&bytes);
            json::seek(whole, &table.rows.path).into_iter().map(|found| found.place_in(whole)).collect()
        }
    };
    Ok(OpenDocument { bytes, places, next: 0 })
}

/// 3146.
fn no_document() -> SqlError {
    let message = format!(
        "Invalid data type for JSON data in argument 1 to function {NAME}; a JSON string or JSON type is required."
    );
    SqlError::new(ErrorCode::InvalidTypeForJson, message)
}
