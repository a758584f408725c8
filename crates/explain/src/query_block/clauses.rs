//! Which query block an operator belongs to: the walk goes down from the top of a block, and each clause of the block
//! accounts for one operator. What no clause accounts for is of a block below.

use super::PlanSource;
use crate::subplans::subplans;
use muster_algebra::{BlockClauses, BlockId, BlockPlace, Plan, PlanOp, QueryBlock, QueryBlocks};

/// The clauses of a block that no operator has been met for.
#[derive(Debug, Clone, Copy)]
pub struct OpenClauses(BlockClauses);

impl OpenClauses {
    pub fn of(block: Option<&QueryBlock>) -> OpenClauses {
        // Without blocks, every operator is of the only one that there is.
        let all = BlockClauses { grouped: true, ordered: true, limit: Some(u64::MAX), ..BlockClauses::default() };
        OpenClauses(block.map_or(all, |block| block.clauses))
    }

    pub fn take_limit(&mut self) -> bool {
        self.0.limit.take().is_some()
    }

    pub fn take_order(&mut self) -> bool {
        std::mem::take(&mut self.0.ordered)
    }

    pub fn take_distinct(&mut self) -> bool {
        std::mem::take(&mut self.0.distinct)
    }

    pub fn take_group(&mut self) -> bool {
        std::mem::take(&mut self.0.grouped)
    }
}

/// The block, directly inside of `current`, that the rows of a plan come from; `None` if they are of `current` itself.
pub fn child_block(plan: &Plan, current: Option<BlockId>, source: &PlanSource<'_>) -> Option<BlockId> {
    let blocks = &source.columns.blocks;
    let current = blocks.effective(current?);
    let mut found = Vec::new();
    leaf_blocks(plan, blocks, &mut found);
    let children: Vec<Option<BlockId>> = found.into_iter().map(|leaf| ancestor_in(leaf, current, blocks)).collect();
    let first = children.first().copied().flatten()?;
    children.iter().all(|child| child.is_some()).then_some(first)
}

/// The ancestor of a block, or the block itself, that stands directly in another one.
fn ancestor_in(leaf: BlockId, outer: BlockId, blocks: &QueryBlocks) -> Option<BlockId> {
    let mut at = leaf;
    loop {
        let around = blocks.effective(blocks.get(at)?.around?);
        if around == outer {
            return Some(at);
        }
        at = around;
    }
}

/// The blocks of the tables below a plan, in the order of the plan; without tables, those of the columns delivered.
fn leaf_blocks(plan: &Plan, blocks: &QueryBlocks, found: &mut Vec<BlockId>) {
    let before = found.len();
    add_leaves(plan, blocks, found);
    if found.len() == before {
        found.extend(plan.output.iter().filter_map(|id| blocks.made(*id)).map(|id| blocks.effective(id)));
    }
}

fn add_leaves(plan: &Plan, blocks: &QueryBlocks, found: &mut Vec<BlockId>) {
    let scan = match &plan.op {
        PlanOp::Scan(scan) => Some(scan),
        PlanOp::LookupJoin { lookup, .. } => Some(&**lookup),
        _ => None,
    };
    if let PlanOp::EarlyStop { input, .. } = &plan.op {
        return add_leaves(input, blocks, found);
    }
    plan.inputs().into_iter().for_each(|input| add_leaves(input, blocks, found));
    let first = scan.and_then(|scan| scan.columns.iter().chain(&scan.filter_columns).next());
    found.extend(first.and_then(|(id, _)| blocks.made(*id)).map(|id| blocks.effective(id)));
}

/// The block of a subquery that runs by itself. `used`: blocks that have been told already.
pub fn subquery_block(
    plan: &Plan,
    current: Option<BlockId>,
    used: &[BlockId],
    source: &PlanSource<'_>,
) -> Option<BlockId> {
    child_block(plan, current, source).or_else(|| {
        let blocks = &source.columns.blocks;
        let current = blocks.effective(current?);
        let all = (0..blocks.blocks.len() as u32).map(BlockId);
        let mut inside = all.filter(|id| {
            blocks.get(*id).is_some_and(|block| {
                block.place == BlockPlace::Expression
                    && block.around.is_some_and(|around| blocks.effective(around) == current)
            })
        });
        inside.find(|id| !used.contains(id))
    })
}

/// The operands of a set operation, with what is done with all their rows.
pub struct UnionParts<'a> {
    pub inputs: Vec<&'a Plan>,
    pub distinct: bool,
    pub sorted: bool,
}

/// The set operation that a plan of the query expression begins with.
pub fn union_parts<'a>(plan: &'a Plan, expression: u32, blocks: &QueryBlocks) -> Option<UnionParts<'a>> {
    if blocks.blocks.iter().filter(|block| block.expression == expression).count() < 2 {
        return None;
    }
    let mut parts = UnionParts { inputs: Vec::new(), distinct: false, sorted: false };
    add_parts(plan, blocks, &mut parts).then_some(parts)
}

fn add_parts<'a>(plan: &'a Plan, blocks: &QueryBlocks, parts: &mut UnionParts<'a>) -> bool {
    match &plan.op {
        PlanOp::Sort { input, .. } => {
            let found = add_parts(input, blocks, parts);
            parts.sorted |= found;
            found
        }
        PlanOp::HashAggregate { input, aggregates, .. }
        | PlanOp::FinalAggregate { input, aggregates, .. }
        | PlanOp::PartialAggregate { input, aggregates, .. }
        | PlanOp::StreamAggregate { input, aggregates, .. }
            if aggregates.is_empty() =>
        {
            let found = add_parts(input, blocks, parts);
            parts.distinct |= found;
            found
        }
        PlanOp::Limit { input, .. } | PlanOp::Project { input, .. } | PlanOp::Exchange { input, .. }
            if subplans(plan).is_empty() =>
        {
            add_parts(input, blocks, parts)
        }
        PlanOp::UnionAll { inputs, .. } => {
            let mut of_operands = Vec::new();
            inputs.iter().for_each(|input| leaf_blocks(input, blocks, &mut of_operands));
            of_operands.sort_unstable();
            of_operands.dedup();
            // Several scans of one block are merged in it.
            if of_operands.len() < 2 && !of_operands.is_empty() {
                return false;
            }
            for input in inputs {
                if !add_parts(input, blocks, parts) {
                    parts.inputs.push(input);
                }
            }
            true
        }
        _ => false,
    }
}
