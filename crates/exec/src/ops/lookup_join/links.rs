//! Columns that stay in the join buffer where they were first put: incremental join buffers (MariaDB manual,
//! "Block-Based Join Algorithms"). A join whose rows go right into another join's buffer delivers them as dictionaries:
//! the values are the column of its own buffer, the keys are rows of it. So a row costs the next buffer four bytes a
//! column, however wide the column is.
//!
//! The buffer below must not change while there are links into it: an empty batch says that it is about to, and the
//! join above looks up what it has first.

use arrow_array::{Array, ArrayRef, DictionaryArray, RecordBatch, UInt32Array, cast::AsArray, types::UInt32Type};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::{concat::concat, take::take};
use datafusion_common::Result;
use std::sync::Arc;

/// Bytes of a link.
pub const LINK_BYTES: usize = size_of::<u32>();

/// The type of a column as links: itself, if a value is no larger than a link.
pub fn link_type(ty: &DataType) -> DataType {
    match ty.primitive_width() {
        Some(width) if width <= LINK_BYTES => ty.clone(),
        _ if *ty == DataType::Boolean => ty.clone(),
        _ => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(value_type(ty).clone())),
    }
}

/// The type of a column's values, whether it has links or not.
fn value_type(ty: &DataType) -> &DataType {
    match ty {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The schema of rows whose links have been followed.
pub fn followed(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|f| f.as_ref().clone().with_data_type(value_type(f.data_type()).clone()));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

fn links(column: &ArrayRef) -> Option<&DictionaryArray<UInt32Type>> {
    column.as_dictionary_opt::<UInt32Type>()
}

/// The values of some rows.
pub fn gather(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    Ok(match links(column) {
        None => take(column, rows, None)?,
        Some(links) => take(links.values(), &take(links.keys(), rows, None)?, None)?,
    })
}

/// Links to some rows, if the column's [`link_type`] is one of links; else their values.
pub fn link(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    Ok(match (links(column), link_type(column.data_type())) {
        (Some(links), _) => {
            let keys = take(links.keys(), rows, None)?;
            Arc::new(DictionaryArray::try_new(keys.as_primitive::<UInt32Type>().clone(), links.values().clone())?)
        }
        (None, DataType::Dictionary(..)) => Arc::new(DictionaryArray::try_new(rows.clone(), column.clone())?),
        (None, _) => take(column, rows, None)?,
    })
}

/// Returns the same rows with the values that the links in these columns stand for.
pub fn follow(batch: &RecordBatch, columns: impl Iterator<Item = usize>) -> Result<RecordBatch> {
    let (mut arrays, mut fields) = (batch.columns().to_vec(), batch.schema().fields().to_vec());
    for i in columns {
        if let Some(links) = links(batch.column(i)) {
            arrays[i] = take(links.values(), links.keys(), None)?;
            fields[i] = Arc::new(fields[i].as_ref().clone().with_data_type(arrays[i].data_type().clone()));
        }
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// The rows of several batches, whose links lead into the same buffers.
pub fn concat_batches(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch> {
    let columns = (0..schema.fields().len()).map(|i| {
        let parts: Vec<&dyn Array> = batches.iter().map(|b| b.column(i).as_ref()).collect();
        let Some(first) = batches.first().and_then(|b| links(b.column(i))) else { return Ok(concat(&parts)?) };
        let keys: Vec<&dyn Array> =
            batches.iter().filter_map(|b| links(b.column(i))).map(|l| l.keys() as &dyn Array).collect();
        let keys = concat(&keys)?.as_primitive::<UInt32Type>().clone();
        Ok(Arc::new(DictionaryArray::try_new(keys, first.values().clone())?) as ArrayRef)
    });
    let options =
        arrow_array::RecordBatchOptions::new().with_row_count(Some(batches.iter().map(RecordBatch::num_rows).sum()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns.collect::<Result<_>>()?, &options)?)
}
