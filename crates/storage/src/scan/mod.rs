//! Reading a table: what is asked, and cursors that deliver batches.
//!
//! ```text
//!   ScanRequest -> Scan -> queue.rs    key ranges, cut into runs of leaves that cursors take
//!                  ScanCursor          cursor.rs: leaves -> batches
//!                    collect.rs        rows of latched leaves -> filter -> output columns
//!                    fetch.rs          entries of a secondary tree -> rows of the clustered one
//! ```

mod collect;
mod cursor;
mod fetch;
mod queue;
#[cfg(test)]
mod scan_bench;
#[cfg(test)]
mod tests;

pub use cursor::ScanCursor;

use crate::{
    Counters, ReadView, Result, StorageError, Table,
    tree::{Tree, leaf::decode::arrow_type},
};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use muster_types::KeyRange;
use parking_lot::Mutex;
use queue::Queue;
use std::sync::Arc;

/// A condition evaluated inside a scan, on the columns it names, before others are decoded.
///
/// A call covers a bounded number of rows, and no batch is delivered while it keeps none: a filter that returns an
/// error (say, [`StorageError::Interrupted`]) ends a long scan.
pub trait BatchFilter: Send + Sync {
    /// Table column positions, in the order [`BatchFilter::evaluate`] gets them.
    fn columns(&self) -> &[usize];
    /// TRUE keeps the row; FALSE and NULL drop it.
    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray>;
}

/// What a reader wants.
pub struct ScanRequest {
    pub view: ReadView,
    /// Position in the schema's indexes; 0 is the clustered tree.
    pub index: usize,
    /// Disjoint and ascending; `[KeyRange::all()]` for everything. An empty list yields nothing.
    pub ranges: Vec<KeyRange>,
    /// Table column positions to deliver. When the index does not hold all of them (and the filter's), rows are
    /// fetched from the clustered tree by primary key, a batch at a time.
    pub columns: Vec<usize>,
    pub filter: Option<Arc<dyn BatchFilter>>,
    /// Rows in key order, from one cursor. Otherwise cursors share the work and the order is free.
    pub ordered: bool,
    pub reverse: bool,
    /// Target size of a batch, in rows.
    pub batch_rows: usize,
    pub counters: Arc<Counters>,
}

/// Some table columns as batches have them.
struct Projection {
    /// Table column positions.
    columns: Vec<usize>,
    schema: SchemaRef,
}

/// A scan that is under way: a queue of key ranges that its cursors share.
pub struct Scan {
    table: Arc<Table>,
    request: ScanRequest,
    /// The tree of the index.
    tree: Arc<Tree>,
    /// Whether the index holds all that is asked for.
    covering: bool,
    output: Projection,
    /// What the filter wants to see.
    tested: Option<Projection>,
    /// Every row of the clustered tree, in no order: MySQL counts it another way.
    whole_table: bool,
    queue: Mutex<Queue>,
}

impl Scan {
    /// Starts a scan; reads no page yet. Errors: `WrongType` for bounds that do not have their columns' types.
    pub fn new(table: Arc<Table>, request: ScanRequest) -> Result<Arc<Scan>> {
        let columns = table.schema().columns.len();
        let filter_columns = request.filter.as_ref().map_or(&[][..], |f| f.columns());
        if let Some(column) = request.columns.iter().chain(filter_columns).find(|c| **c >= columns) {
            return Err(StorageError::WrongType { value: format!("column {column} of {columns}") });
        }
        let Some(tree) = table.trees().get(request.index).map(Arc::clone) else {
            return Err(StorageError::WrongType { value: format!("index {}", request.index) });
        };
        let covering = tree.layout().covers(&request.columns) && tree.layout().covers(filter_columns);
        let whole_table = request.index == 0 && !request.ordered && request.ranges == [KeyRange::all()];
        let queue = Queue::new(&tree, &request, whole_table)?;
        Ok(Arc::new(Scan {
            covering,
            output: Projection::new(&table, request.columns.clone()),
            tested: request.filter.as_ref().map(|f| Projection::new(&table, f.columns().to_vec())),
            whole_table,
            queue: Mutex::new(queue),
            tree,
            table,
            request,
        }))
    }

    /// Another worker on this scan. With `ordered` there must be only one.
    pub fn cursor(self: &Arc<Self>) -> ScanCursor {
        ScanCursor::new(Arc::clone(self))
    }

    /// What batches look like. Columns have no names of their own here.
    pub fn schema(&self) -> &SchemaRef {
        &self.output.schema
    }
}

impl Projection {
    fn new(table: &Table, columns: Vec<usize>) -> Projection {
        let field = |c: &usize| {
            let column = &table.schema().columns[*c];
            Field::new(format!("c{c}"), arrow_type(&column.ty), column.nullable)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        Projection { columns, schema }
    }
}
