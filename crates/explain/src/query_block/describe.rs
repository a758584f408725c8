//! The walk over a plan that makes query blocks of it.

use super::{
    BlockMessage, BlockRole, ConstantRow, Extra, PlanSource, QueryBlock, QueryExpression, RowClause, SubqueryPlace,
    SubqueryPlan, TableLine, UnionPlan, WindowLine,
    clauses::{OpenClauses, UnionParts, child_block, subquery_block, union_parts},
    computed::{computed_name, shown_name},
    constants::constants_first,
    merged::{are_index_ends, key_of},
    table::{LookupKeys, names_in_order},
};
use crate::subplans::subplans;
use muster_algebra::{
    AggregateCall, BlockId, BlockPlace, ColId, Expr, JsonTable, Plan, PlanOp, Scan, SortKey, Subplan,
};
use std::collections::HashMap;

/// The blocks of a plan.
pub fn describe<'a>(source: &PlanSource<'a>) -> QueryExpression<'a> {
    let outermost = (!source.columns.blocks.blocks.is_empty()).then_some(BlockId(0));
    let mut describer = Describer { source, shared: HashMap::new(), used: Vec::new() };
    describer.expression(source.plan, outermost, BlockRole::Outermost, false)
}

pub(super) struct Describer<'s, 'a> {
    pub(super) source: &'s PlanSource<'a>,
    /// The names of rows that are shared, by their number in the plan.
    shared: HashMap<usize, String>,
    /// Blocks that have been told.
    used: Vec<BlockId>,
}

impl<'s, 'a> Describer<'s, 'a> {
    fn expression(
        &mut self,
        plan: &'a Plan,
        block: Option<BlockId>,
        role: BlockRole,
        dependent: bool,
    ) -> QueryExpression<'a> {
        let blocks = &self.source.columns.blocks;
        let number = block.and_then(|id| blocks.get(id)).map(|block| block.expression);
        match number.and_then(|number| Some((number, union_parts(plan, number, blocks)?))) {
            Some((number, parts)) => QueryExpression::Union(self.union(plan, number, parts, role, dependent)),
            None => QueryExpression::Block(Box::new(self.block(plan, block, role, dependent))),
        }
    }

    fn union(
        &mut self,
        plan: &'a Plan,
        expression: u32,
        parts: UnionParts<'a>,
        role: BlockRole,
        dependent: bool,
    ) -> UnionPlan<'a> {
        let blocks = &self.source.columns.blocks;
        let mut ids: Vec<BlockId> = (0..blocks.blocks.len() as u32).map(BlockId).collect();
        ids.retain(|id| blocks.get(*id).is_some_and(|block| block.expression == expression));
        ids.sort_by_key(|id| blocks.get(*id).map(|block| block.number));
        let mut operands = Vec::new();
        for (i, input) in parts.inputs.into_iter().enumerate() {
            let role = if i == 0 { role } else { BlockRole::Union };
            operands.push(self.block(input, ids.get(i).copied(), role, dependent));
        }
        let needs_table = parts.distinct || parts.sorted;
        let result = needs_table.then_some(RowClause { temporary_table: true, filesort: parts.sorted });
        let last = blocks.blocks.iter().map(|block| block.number).max().unwrap_or(1);
        UnionPlan { operands, result, number: last + 1, cost_ms: plan.estimate.cost.total_ms() }
    }

    fn block(&mut self, plan: &'a Plan, id: Option<BlockId>, role: BlockRole, dependent: bool) -> QueryBlock<'a> {
        self.used.extend(id);
        let known = id.and_then(|id| self.source.columns.blocks.get(id));
        let block = QueryBlock {
            number: known.map_or(1, |block| block.number),
            role,
            dependent,
            message: None,
            tables: Vec::new(),
            grouping: known.filter(|block| block.clauses.group_by).map(|_| RowClause::default()),
            distinct: known.filter(|block| block.clauses.distinct).map(|_| RowClause::default()),
            ordering: known.filter(|block| block.clauses.ordered).map(|_| RowClause::default()),
            windows: Vec::new(),
            subqueries: Vec::new(),
            cost_ms: plan.estimate.cost.total_ms(),
            computed: Vec::new(),
            id,
            change: None,
        };
        let open = OpenClauses::of(known);
        let (has_having, limit) = known.map_or((false, None), |b| (b.clauses.having, b.clauses.limit));
        let mut walk = BlockWalk {
            describer: self,
            id,
            open,
            block,
            outer_values: HashMap::new(),
            has_grouped: false,
            constant_message: None,
            inner_depth: 0,
        };
        walk.part(plan, false);
        walk.finish(has_having, limit)
    }
}

/// The walk over the operators of one block.
pub(super) struct BlockWalk<'d, 's, 'a> {
    pub(super) describer: &'d mut Describer<'s, 'a>,
    pub(super) id: Option<BlockId>,
    pub(super) open: OpenClauses,
    pub(super) block: QueryBlock<'a>,
    /// Columns of a row of values that stand for columns of the blocks around.
    pub(super) outer_values: HashMap<ColId, ColId>,
    /// True once the rows of the block have been grouped.
    pub(super) has_grouped: bool,
    /// Set if a table of one row has none.
    pub(super) constant_message: Option<BlockMessage>,
    /// Number of outer, semi and anti joins on whose inner side the walk is.
    pub(super) inner_depth: usize,
}

impl<'a> BlockWalk<'_, '_, 'a> {
    fn source(&self) -> &PlanSource<'a> {
        self.describer.source
    }

    fn child(&self, plan: &Plan) -> Option<BlockId> {
        child_block(plan, self.id, self.source())
    }

    /// What is below an operator of the block. `in_join`: the operator is an input of a join.
    pub(super) fn part(&mut self, plan: &'a Plan, in_join: bool) {
        match &plan.op {
            PlanOp::Scan(scan) => self.table(scan, None, plan),
            PlanOp::Values { rows } => self.values(plan, rows),
            PlanOp::Working { .. } => self.values(plan, &[]),
            PlanOp::Recursive { input, .. } => self.own_or_derived(plan, |walk| walk.part(input, true)),
            PlanOp::Exchange { input, .. } | PlanOp::Rollup { input, .. } | PlanOp::PartialAggregate { input, .. } => {
                self.part(input, in_join)
            }
            PlanOp::Project { input, .. } => {
                self.part(input, in_join);
                self.subqueries(plan, SubqueryPlace::SelectList);
            }
            PlanOp::Filter { input, predicates } => self.filter(plan, input, predicates, in_join),
            PlanOp::Limit { input, .. } => {
                if !in_join && self.open.take_limit() {
                    return self.part(input, in_join);
                }
                self.own_or_derived(plan, |walk| walk.part(input, in_join));
            }
            PlanOp::Sort { input, keys, .. } => {
                let own = !in_join && self.open.take_order();
                let sorted = |walk: &mut Self| {
                    walk.part(input, in_join);
                    let needs_table = walk.sorts_several(keys);
                    let ordering = walk.block.ordering.get_or_insert_default();
                    ordering.filesort = true;
                    ordering.temporary_table |= needs_table;
                };
                if own { sorted(self) } else { self.own_or_derived(plan, sorted) }
            }
            PlanOp::Window { input, window } => {
                // The sort of a window is not the block's ORDER BY.
                let (below, filesort) = match &input.op {
                    PlanOp::Sort { input, .. } => (input, true),
                    _ => (input, false),
                };
                self.part(below, in_join);
                let sort_ms = (input.estimate.cost.total_ms() - below.estimate.cost.total_ms()).max(0.0);
                self.block.windows.push(WindowLine { window, filesort, sort_ms });
            }
            PlanOp::HashAggregate { .. } | PlanOp::FinalAggregate { .. } | PlanOp::StreamAggregate { .. } => {
                self.aggregate(plan, in_join)
            }
            PlanOp::HashJoin { .. }
            | PlanOp::MergeJoin { .. }
            | PlanOp::NestedLoopJoin { .. }
            | PlanOp::LookupJoin { .. } => self.join(plan),
            PlanOp::Lateral { input, rows, .. } => self.lateral(input, rows),
            PlanOp::JsonTable { input, table, .. } => self.json_table(plan, input, table),
            PlanOp::UnionAll { inputs, .. } => {
                self.own_or_derived(plan, |walk| inputs.iter().for_each(|input| walk.part(input, true)));
            }
            PlanOp::EarlyStop { input, fallback, .. } => {
                let before = self.block.tables.len();
                self.part(input, in_join);
                if let Some(line) = self.block.tables.get_mut(before) {
                    line.extras.push(Extra::Fallback(key_of(fallback)));
                }
            }
            PlanOp::Shared { id, input, .. } => self.shared(plan, *id, input, in_join),
        }
    }

    /// Returns true if rows of several tables are sorted by columns that the first of them does not have: MySQL keeps
    /// them in a temporary table.
    fn sorts_several(&self, keys: &[SortKey]) -> bool {
        let mut read = self.block.tables.iter().filter(|line| line.access_type != "const");
        let (first, further) = (read.next(), read.next());
        let (Some(first), Some(_)) = (first, further) else { return self.has_grouped && first.is_some() };
        let is_first = |id: &ColId| {
            let origin = self.describer.source.columns.get(*id).origin.as_ref();
            origin.is_some_and(|origin| origin.alias == first.name.shown())
        };
        self.has_grouped || !keys.iter().all(|key| key.expr.columns().iter().all(is_first))
    }

    /// An operator that no clause of the block accounts for: the rows of a block below, if there is one.
    fn own_or_derived(&mut self, plan: &'a Plan, own: impl FnOnce(&mut Self)) {
        match self.child(plan) {
            Some(child) => self.derived(plan, child),
            None => own(self),
        }
    }

    /// A dependent join: the tables of its input, of which the last one has the subquery computed again for each row.
    fn lateral(&mut self, input: &'a Plan, rows: &'a Expr) {
        self.part(input, true);
        let Expr::Subplan(subplan) = rows else { return };
        let Some(child) = self.child(&subplan.plan) else { return self.part(&subplan.plan, true) };
        let (_, name) = self.derived_name(&subplan.plan, child);
        if let Some(line) = self.block.tables.last_mut() {
            line.extras.push(Extra::Rematerialize(name));
        }
        self.derived_for(&subplan.plan, child, true);
    }

    /// A line for the rows of a document, behind those of the tables that it comes from.
    fn json_table(&mut self, plan: &'a Plan, input: &'a Plan, table: &JsonTable) {
        if !matches!(input.op, PlanOp::Values { .. }) {
            self.part(input, true);
        }
        let mut line = TableLine::computed(table.alias.clone(), plan);
        line.computed_columns = table.rows.all_columns().into_iter().map(|column| column.name.clone()).collect();
        line.examined = plan.estimate.rows / input.estimate.rows.max(1.0);
        line.joined_before = input.estimate.rows.max(1.0);
        line.cost_before = input.estimate.cost;
        line.extras.push(Extra::TableFunction("json_table"));
        self.block.tables.push(line);
    }

    /// A line for rows that a block below computes.
    fn derived(&mut self, plan: &'a Plan, child: BlockId) {
        self.derived_for(plan, child, false);
    }

    fn derived_for(&mut self, plan: &'a Plan, child: BlockId, dependent: bool) {
        let (role, name) = self.derived_name(plan, child);
        let mut line = TableLine::computed(name, plan);
        line.alias = self.derived_alias(child);
        self.note_computed(child, &mut line, plan);
        line.below = Some(Box::new(self.describer.expression(plan, Some(child), role, dependent)));
        self.block.tables.push(line);
    }

    fn derived_name(&self, plan: &Plan, child: BlockId) -> (BlockRole, String) {
        let blocks = &self.source().columns.blocks;
        let Some(block) = blocks.get(child) else { return (BlockRole::Derived, "<derived>".into()) };
        // The first operand of a set operation names its rows.
        let same = blocks.blocks.iter().filter(|other| other.expression == block.expression);
        let number = same.map(|other| other.number).min().unwrap_or(block.number);
        match block.place {
            BlockPlace::Expression if !computes(plan) => (BlockRole::Materialized, format!("<subquery{number}>")),
            _ => (BlockRole::Derived, format!("<derived{number}>")),
        }
    }

    /// The block as it is used here: rows that are shared are computed from another use's tables.
    fn of_this_use(&self, child: BlockId, plan: &Plan) -> BlockId {
        let blocks = &self.source().columns.blocks;
        let made = plan.output.iter().find_map(|id| blocks.made(*id)).map(|id| blocks.effective(id));
        made.filter(|id| Some(*id) != self.id).unwrap_or(child)
    }

    /// Notes under which name the rows of a block are read.
    fn note_computed(&mut self, child: BlockId, line: &mut TableLine<'_>, plan: &Plan) {
        let name = line.alias.clone().unwrap_or_else(|| line.name.shown().to_string());
        self.block.computed.push((child, name));
        let columns = self.describer.source.columns;
        line.computed_columns = plan.output.iter().map(|id| shown_name(columns, *id)).collect();
    }

    /// The name that the rows of a block have in FROM.
    fn derived_alias(&self, child: BlockId) -> Option<String> {
        match &self.source().columns.blocks.get(child)?.place {
            BlockPlace::Derived(alias) => Some(alias.clone()),
            BlockPlace::Expression | BlockPlace::Outermost => None,
        }
    }

    fn shared(&mut self, plan: &'a Plan, id: usize, input: &'a Plan, in_join: bool) {
        let child = self.child(input);
        match (self.describer.shared.get(&id).cloned(), child) {
            (Some(name), _) => {
                let mut line = TableLine::computed(name, plan);
                if let Some(child) = child.map(|child| self.of_this_use(child, plan)) {
                    line.alias = self.derived_alias(child);
                    self.note_computed(child, &mut line, plan);
                }
                line.is_computed_elsewhere = true;
                self.block.tables.push(line);
            }
            (None, Some(child)) => {
                let (_, name) = self.derived_name(input, child);
                self.describer.shared.insert(id, name);
                self.derived(input, child);
            }
            (None, None) => {
                self.describer.shared.insert(id, format!("<shared{id}>"));
                let before = self.block.tables.len();
                self.part(input, in_join);
                if let Some(line) = self.block.tables.get_mut(before) {
                    line.extras.push(Extra::SharedRows(id));
                }
            }
        }
    }

    pub(super) fn table(&mut self, scan: &'a Scan, lookup: Option<LookupKeys<'a>>, plan: &'a Plan) {
        let mut line = TableLine::of_scan(scan, lookup, plan, self.describer.source);
        if let Some(lookup) = lookup {
            for (compared, key) in line.compared.iter_mut().zip(lookup.keys) {
                let Expr::Column(id) = key else { continue };
                if let Some(name) = computed_name(&self.block, *id, self.describer.source.columns) {
                    *compared = format!("{name}.{}", shown_name(self.describer.source.columns, *id));
                    continue;
                }
                let outer = self.outer_values.get(id);
                if let Some(origin) = outer.and_then(|id| self.describer.source.columns.get(*id).origin.as_ref()) {
                    *compared = format!("{}.{}.{}", origin.database, origin.alias, origin.column);
                }
            }
        }
        if scan.ranges.is_empty() && lookup.is_none() && self.inner_depth == 0 {
            self.constant_message = Some(BlockMessage::ImpossibleWhere);
        }
        if line.access_type == "const" && self.inner_depth == 0 {
            match (self.describer.source.constant_row)(plan) {
                ConstantRow::Found => {}
                ConstantRow::Missing => self.constant_message = Some(BlockMessage::NoMatchingRow),
                ConstantRow::Dropped => {
                    self.constant_message.get_or_insert(BlockMessage::ImpossibleAfterReading);
                }
            }
        }
        self.block.tables.push(line);
    }

    fn values(&mut self, plan: &Plan, rows: &'a [Vec<Expr>]) {
        match rows {
            [] if self.block.tables.is_empty() => self.block.message = Some(BlockMessage::ImpossibleWhere),
            [row] => {
                let outer = plan.output.iter().zip(row).filter_map(|(id, expr)| match expr {
                    Expr::Column(outer) => Some((*id, *outer)),
                    _ => None,
                });
                self.outer_values.extend(outer);
            }
            _ => {}
        }
    }

    fn filter(&mut self, plan: &'a Plan, input: &'a Plan, predicates: &[Expr], in_join: bool) {
        self.part(input, in_join);
        let is_having = self.has_grouped && !in_join;
        let place = match self.block.tables.len().checked_sub(1) {
            Some(last) if !is_having => SubqueryPlace::Table(last),
            _ => SubqueryPlace::Having,
        };
        if let (SubqueryPlace::Table(_), Some(line)) = (place, self.block.tables.last_mut()) {
            line.condition.extend(predicates.iter().cloned());
            line.joined = plan.estimate.rows;
            line.cost = plan.estimate.cost;
        }
        self.subqueries(plan, place);
    }

    fn aggregate(&mut self, plan: &'a Plan, in_join: bool) {
        let (PlanOp::HashAggregate { input, group, aggregates }
        | PlanOp::FinalAggregate { input, group, aggregates }
        | PlanOp::StreamAggregate { input, group, aggregates }) = &plan.op
        else {
            return;
        };
        let is_distinct = aggregates.is_empty() && !in_join && self.open.take_distinct();
        let is_group = !is_distinct && !in_join && self.open.take_group();
        if !is_distinct && !is_group && self.child(plan).is_some() {
            return self.own_or_derived(plan, |_| {});
        }
        if group.is_empty() && !in_join && are_index_ends(input) {
            self.block.message = Some(BlockMessage::OptimizedAway);
            return;
        }
        self.part(input, in_join);
        self.subqueries(plan, SubqueryPlace::SelectList);
        let hashes = !group.is_empty() && !matches!(plan.op, PlanOp::StreamAggregate { .. });
        self.has_grouped |= is_group;
        let keys: Vec<ColId> = match group.is_empty() {
            true => aggregates.iter().filter(|(_, call)| call.distinct).flat_map(|(_, call)| arguments(call)).collect(),
            false => group.clone(),
        };
        self.possible_for_groups(&keys);
        let clause = match (is_group && !group.is_empty(), is_distinct) {
            (true, _) => &mut self.block.grouping,
            (_, true) => &mut self.block.distinct,
            _ => return,
        };
        clause.get_or_insert_default().temporary_table |= hashes;
    }

    /// Adds the indexes that have all columns of the groups to the possible keys of their table.
    fn possible_for_groups(&mut self, keys: &[ColId]) {
        let columns = self.describer.source.columns;
        let Some(alias) = keys.first().and_then(|id| columns.get(*id).origin.as_ref()).map(|origin| &origin.alias)
        else {
            return;
        };
        let Some(line) = self.block.tables.iter_mut().find(|line| line.name.shown() == alias) else { return };
        let Some(scan) = line.scan else { return };
        let position = |id: &ColId| {
            let origin = columns.get(*id).origin.as_ref().filter(|origin| origin.alias == scan.alias)?;
            scan.table.column(&origin.column)
        };
        let Some(positions) = keys.iter().map(position).collect::<Option<Vec<usize>>>() else { return };
        let has_all = |at: &usize| {
            let parts = scan.table.key_parts(*at);
            positions.iter().all(|column| parts.iter().any(|part| part.column == *column && part.prefix.is_none()))
        };
        let known = |at: &usize| line.possible_keys.contains(&scan.table.indexes[*at].name);
        let possible = (0..scan.table.indexes.len()).filter(|at| !positions.is_empty() && has_all(at) || known(at));
        line.possible_keys = names_in_order(&scan.table, possible.collect());
    }

    /// The subqueries in the operator's own expressions.
    pub(super) fn subqueries(&mut self, plan: &'a Plan, place: SubqueryPlace) {
        for subplan in subplans(plan) {
            let Subplan { plan, params, .. } = subplan;
            let block = subquery_block(plan, self.id, &self.describer.used, self.describer.source);
            let expression = self.describer.expression(plan, block, BlockRole::Subquery, !params.is_empty());
            let only = expression.first();
            if only.message == Some(BlockMessage::NoTables)
                && only.subqueries.is_empty()
                && expression.blocks().len() == 1
            {
                // A value, not a query.
                continue;
            }
            self.block.subqueries.push(SubqueryPlan { place, expression });
        }
    }

    fn finish(mut self, has_having: bool, limit: Option<u64>) -> QueryBlock<'a> {
        let block = &mut self.block;
        if let Some(message) = self.constant_message {
            block.message = Some(message);
        } else if !block.tables.is_empty() {
            block.message = None;
        } else if block.message == Some(BlockMessage::ImpossibleWhere) && limit == Some(0) {
            block.message = Some(BlockMessage::ZeroLimit);
        } else if block.message == Some(BlockMessage::ImpossibleWhere) && has_having {
            block.message = Some(BlockMessage::ImpossibleHaving);
        } else if block.message.is_none() {
            block.message = Some(BlockMessage::NoTables);
        }
        if block.message.is_some() {
            block.tables.clear();
        }
        constants_first(&mut block.tables);
        if let (Some(distinct), Some(ordering), None) = (&mut block.distinct, &mut block.ordering, &block.grouping) {
            distinct.filesort |= std::mem::take(&mut ordering.filesort);
        }
        if block.grouping.is_some_and(|grouping| grouping.temporary_table)
            && let Some(ordering) = &mut block.ordering
        {
            // One temporary table does for both.
            ordering.temporary_table = false;
        }
        if block.role == BlockRole::Materialized {
            // The temporary table that is told of anyway.
            block.distinct = None;
        }
        let clauses = [block.grouping, block.distinct, block.ordering];
        let temporary = clauses.iter().flatten().any(|clause| clause.temporary_table);
        let windows_sort = block.windows.iter().any(|window| window.filesort);
        let filesort = windows_sort || clauses.iter().flatten().any(|clause| clause.filesort);
        if let Some(line) = block.tables.iter_mut().find(|line| line.access_type != "const") {
            line.extras.extend(temporary.then_some(Extra::Temporary));
            line.extras.extend(filesort.then_some(Extra::Filesort));
        }
        self.block
    }
}

/// Returns true if a plan computes something of the rows of its groups.
fn computes(plan: &Plan) -> bool {
    match &plan.op {
        PlanOp::HashAggregate { aggregates, .. }
        | PlanOp::FinalAggregate { aggregates, .. }
        | PlanOp::StreamAggregate { aggregates, .. } => !aggregates.is_empty(),
        PlanOp::Project { input, .. } | PlanOp::Exchange { input, .. } | PlanOp::Filter { input, .. } => {
            computes(input)
        }
        _ => false,
    }
}

/// The columns that an aggregate is computed of.
fn arguments(call: &AggregateCall) -> Vec<ColId> {
    call.args.iter().flat_map(Expr::columns).collect()
}
