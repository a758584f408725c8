//! The query blocks of a statement: one for each SELECT, numbered as MySQL numbers them (`select#1`).
//!
//! Columns know the block that made them, so whatever a rewrite moves, its block can still be named.

use crate::ColId;
use serde::{Deserialize, Serialize};

/// A position in [`QueryBlocks::blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlockId(pub u32);

/// Where the query expression that a block belongs to stands in the statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockPlace {
    /// The statement itself.
    Outermost,
    /// FROM, under this name: a derived table, a view or a table of WITH.
    Derived(String),
    /// An expression.
    Expression,
}

/// The clauses of a SELECT that change its rows as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BlockClauses {
    pub distinct: bool,
    /// GROUP BY, or aggregate functions.
    pub grouped: bool,
    /// GROUP BY is written.
    pub group_by: bool,
    pub having: bool,
    /// An ORDER BY that matters.
    pub ordered: bool,
    /// The count of LIMIT; `u64::MAX` with an offset alone.
    pub limit: Option<u64>,
}

/// One SELECT of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryBlock {
    /// MySQL's number of the block, from 1.
    pub number: u32,
    /// The block around it; `None` for those of the statement itself.
    pub around: Option<BlockId>,
    pub place: BlockPlace,
    /// The number of the query expression; the operands of a set operation have the same.
    pub expression: u32,
    /// True if its tables are part of the block around it.
    pub merged: bool,
    pub clauses: BlockClauses,
}

/// All query blocks of one statement, and which columns each of them made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryBlocks {
    pub blocks: Vec<QueryBlock>,
    /// The first column made after a change of the block, in ascending order, and that block.
    changes: Vec<(ColId, Option<BlockId>)>,
}

impl QueryBlocks {
    /// Says that columns from this one on are made by a block.
    pub(crate) fn change(&mut self, from: ColId, block: Option<BlockId>) {
        match self.changes.last_mut() {
            Some((at, last)) if *at == from => *last = block,
            Some((_, last)) if *last == block => {}
            None if block.is_none() => {}
            _ => self.changes.push((from, block)),
        }
    }

    /// The block that made a column; `None` for a column of the optimizer.
    pub fn made(&self, id: ColId) -> Option<BlockId> {
        let after = self.changes.partition_point(|(from, _)| *from <= id);
        self.changes[..after].last().and_then(|(_, block)| *block)
    }

    pub fn get(&self, id: BlockId) -> Option<&QueryBlock> {
        self.blocks.get(id.0 as usize)
    }

    /// The block that a block's tables are part of: itself, unless it was merged.
    pub fn effective(&self, mut id: BlockId) -> BlockId {
        while let Some(QueryBlock { merged: true, around: Some(around), .. }) = self.get(id) {
            id = *around;
        }
        id
    }

    /// Returns true if `inner` stands in `outer`, at any depth.
    pub fn is_inside(&self, inner: BlockId, outer: BlockId) -> bool {
        let mut at = self.get(inner).and_then(|block| block.around);
        while let Some(id) = at {
            if id == outer {
                return true;
            }
            at = self.get(id).and_then(|block| block.around);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u32, around: Option<u32>, merged: bool) -> QueryBlock {
        let place = if around.is_some() { BlockPlace::Expression } else { BlockPlace::Outermost };
        QueryBlock {
            number,
            around: around.map(BlockId),
            place,
            expression: number,
            merged,
            clauses: BlockClauses::default(),
        }
    }

    #[test]
    fn columns_know_their_blocks() {
        let mut blocks = QueryBlocks::default();
        blocks.change(ColId(0), None);
        blocks.change(ColId(0), Some(BlockId(0)));
        blocks.change(ColId(3), Some(BlockId(1)));
        blocks.change(ColId(3), Some(BlockId(0)));
        blocks.change(ColId(5), Some(BlockId(2)));
        blocks.change(ColId(7), None);
        let made: Vec<_> = [0, 3, 4, 5, 6, 7, 99].iter().map(|id| blocks.made(ColId(*id)).map(|b| b.0)).collect();
        assert_eq!(made, [Some(0), Some(0), Some(0), Some(2), Some(2), None, None]);
        assert_eq!(QueryBlocks::default().made(ColId(1)), None);
    }

    #[test]
    fn merged_blocks_are_part_of_the_block_around_them() {
        let blocks = vec![block(1, None, false), block(2, Some(0), true), block(3, Some(1), true)];
        let blocks = QueryBlocks { blocks, changes: Vec::new() };
        assert_eq!(blocks.effective(BlockId(2)), BlockId(0));
        assert!(blocks.is_inside(BlockId(2), BlockId(0)) && !blocks.is_inside(BlockId(0), BlockId(2)));
    }
}
