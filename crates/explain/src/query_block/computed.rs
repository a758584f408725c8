//! The names of rows that a block inside of another one computes, and of their columns.

use super::QueryBlock;
use muster_algebra::{BlockId, ColId, Columns};

/// The name of a column of a derived table.
pub fn shown_name(columns: &Columns, id: ColId) -> String {
    let shown = columns.shown_origin(id).map(|origin| origin.column.clone());
    shown.unwrap_or_else(|| columns.get(id).name.clone())
}

/// The name under which a block reads a column that a block inside of it computes.
pub fn computed_name(block: &QueryBlock<'_>, id: ColId, columns: &Columns) -> Option<String> {
    let blocks = &columns.blocks;
    let made = blocks.effective(blocks.made(id)?);
    let within = |child: BlockId| made == child || blocks.is_inside(made, child);
    block.computed.iter().find(|(child, _)| within(*child)).map(|(_, name)| name.clone())
}
