//! The numbers of query blocks, as MySQL gives them (`select#1` in EXPLAIN): in the order of the text; those of a WITH
//! table count where it is used, those of views behind all others.

use super::{binder::Binder, hints::Block};
use muster_algebra::{BlockClauses, BlockId, BlockPlace, QueryBlock};

/// Where a block begins: the number of the text, which is 0 for the statement's own, its line and its column.
pub(crate) type Place = (usize, u64, u64);

/// The query expressions of a statement: a SELECT, or several that a set operation combines.
#[derive(Debug)]
pub(crate) struct Expressions {
    all: Vec<QueryExpression>,
    current: usize,
}

#[derive(Debug)]
struct QueryExpression {
    place: BlockPlace,
    /// Position of the block around it.
    around: Option<usize>,
    /// Where the WITH tables that it is in are used, from the outside inwards.
    used_at: Vec<Place>,
    merged: bool,
}

impl Default for Expressions {
    fn default() -> Expressions {
        let place = BlockPlace::Outermost;
        Expressions {
            all: vec![QueryExpression { place, around: None, used_at: Vec::new(), merged: false }],
            current: 0,
        }
    }
}

/// A query expression that has begun, and the one around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BegunExpression {
    own: usize,
    around: usize,
}

impl Expressions {
    pub fn current(&self) -> usize {
        self.current
    }

    /// The key by which a block that begins here is numbered.
    pub fn order(&self, place: Place) -> Vec<Place> {
        let mut order = self.all[self.current].used_at.clone();
        order.push(place);
        order
    }

    /// Says that the tables of a query expression are part of the block around it.
    pub fn merge(&mut self, begun: BegunExpression) {
        self.all[begun.own].merged = true;
    }

    pub fn end(&mut self, begun: BegunExpression) {
        self.current = begun.around;
    }
}

impl Binder<'_> {
    /// Begins a query expression in the current block. `used_at`: where a WITH table is used.
    pub fn begin_expression(&mut self, place: BlockPlace, used_at: Option<(u64, u64)>) -> BegunExpression {
        let around = self.expressions.current;
        let mut places = self.expressions.all[around].used_at.clone();
        places.extend(used_at.map(|(line, column)| (0, line, column)));
        let own = self.expressions.all.len();
        self.expressions.all.push(QueryExpression { place, around: self.block, used_at: places, merged: false });
        self.expressions.current = own;
        BegunExpression { own, around }
    }

    /// Says what clauses the current block has.
    pub fn set_clauses(&mut self, clauses: BlockClauses) {
        if let Some(block) = self.block.and_then(|position| self.blocks.get_mut(position)) {
            block.clauses = clauses;
        }
    }

    /// All blocks with their numbers. A block that is bound more than once has one number.
    pub fn numbered_blocks(&self) -> Vec<QueryBlock> {
        let mut orders: Vec<&Vec<Place>> = self.blocks.iter().map(|block| &block.order).collect();
        orders.sort_unstable();
        orders.dedup();
        let number = |block: &Block| orders.binary_search(&&block.order).unwrap_or(0) as u32 + 1;
        let numbered = |block: &Block| {
            let expression = &self.expressions.all[block.expression];
            QueryBlock {
                number: number(block),
                around: expression.around.map(|position| BlockId(position as u32)),
                place: expression.place.clone(),
                expression: block.expression as u32,
                merged: expression.merged,
                clauses: block.clauses,
            }
        };
        self.blocks.iter().map(numbered).collect()
    }
}
