//! The estimated width of rows. Batches get so many rows that they take a small part of the memory limit.
//!
//! DataFusion's operators count a batch's rows, never its bytes, and some hold many batches at a time: each partition
//! of a repartition collects one for every other, a merge of spilled groups holds several of every run. With long
//! texts thousands of rows would exceed a small limit before anybody asked the pool.

use arrow_schema::DataType;
use muster_storage::Table;
use muster_types::SqlType;

/// Bytes in a batch of a value of fixed width, or of what stands for a longer one.
const VIEW_BYTES: usize = size_of::<u128>();

/// Bytes of a row of these columns of a table. Texts take what they take on the pages, which is too little where they
/// repeat.
pub fn of_table(table: &Table, columns: impl Iterator<Item = usize>) -> f64 {
    let types = |column: usize| table.schema().columns.get(column).map(|c| c.ty);
    let types: Vec<SqlType> = columns.filter_map(types).collect();
    let texts = types.iter().filter(|ty| is_text(**ty)).count();
    let fixed = types.iter().map(|ty| crate::arrow_value::arrow_type(ty).primitive_width().unwrap_or(VIEW_BYTES));
    let fixed = fixed.sum::<usize>() as f64;
    if texts == 0 {
        return fixed;
    }
    let all_texts = table.schema().columns.iter().filter(|c| is_text(c.ty)).count();
    let file = table.tree(0).file();
    let row_bytes = file.page_count() as f64 * file.page_size() as f64 / table.row_count().max(1) as f64;
    fixed + row_bytes * texts as f64 / all_texts as f64
}

fn is_text(ty: SqlType) -> bool {
    matches!(crate::arrow_value::arrow_type(&ty), DataType::Utf8View | DataType::BinaryView)
}
