//! The meaning of optimizer hints: names of query blocks, tables and indexes become columns and positions (manual
//! 10.9.3).
//!
//! ```text
//!   select      begins a block, notes its hints and, as they are bound, its tables
//!   resolve     at the end: every name is known, whichever block it is in
//! ```
//!
//! Warnings are MySQL's: 3126 for a hint that contradicts or repeats another, 3127 for a block and 3128 for a table or
//! an index that there is not.

use super::{binder::Binder, from::Joined, numbering::Place};
use crate::{OptimizerHint, hints::HintArgument};
use muster_algebra::{
    BlockClauses, BlockId, ColId, HintTarget, Hints, IndexHint, IndexHintKind, IndexHintScope, OrderHint, OrderKind,
    Rel, Switch, SwitchHint, TableDef,
};
use muster_types::{ErrorCode, SqlError};
use sqlparser::ast;
use std::{collections::BTreeSet, sync::Arc};

/// A SELECT and its tables.
#[derive(Debug)]
pub(crate) struct Block {
    /// The position at which the block's text begins. Views have texts of their own and come after the statement's.
    pub(super) place: Place,
    /// The same behind the places of the WITH tables around it, as they are used: the order of MySQL's numbers.
    pub(super) order: Vec<Place>,
    /// Position of its query expression.
    pub(super) expression: usize,
    pub(super) clauses: BlockClauses,
    hints: Vec<OptimizerHint>,
    tables: Vec<BlockTable>,
}

#[derive(Debug)]
struct BlockTable {
    alias: String,
    /// `None` for a derived table or a view.
    table: Option<Arc<TableDef>>,
    /// The columns that it delivers and those of the base tables in it.
    columns: BTreeSet<ColId>,
    outputs: BTreeSet<ColId>,
}

/// The arguments of a hint, and what it sets.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// The arguments are tables; without arguments the hint is about all tables of a block.
    Tables(&'static [Switch]),
    /// The arguments are a table and some of its indexes.
    Indexes(Switch),
    /// USE, IGNORE or FORCE INDEX in another form.
    Use(IndexHintScope),
    Order(OrderKind),
    FixedOrder,
    /// How a subquery is joined.
    Semijoin,
    Subquery,
    /// The hint is about a query block.
    Block(Switch),
    /// Looked at elsewhere, or without effect here.
    Elsewhere,
}

/// The meaning of a hint without its `NO_`.
fn meaning(name: &str) -> Meaning {
    match name {
        "BKA" => Meaning::Tables(&[Switch::BatchedKeyAccess, Switch::JoinCacheBka]),
        "BNL" | "HASH_JOIN" => Meaning::Tables(&[Switch::HashJoin, Switch::BlockNestedLoop, Switch::JoinCacheHashed]),
        "MERGE_JOIN" => Meaning::Tables(&[Switch::MergeJoin]),
        "MERGE" => Meaning::Tables(&[Switch::DerivedMerge]),
        "DERIVED_CONDITION_PUSHDOWN" => Meaning::Tables(&[Switch::DerivedConditionPushdown]),
        "MRR" => Meaning::Indexes(Switch::Mrr),
        "ICP" => Meaning::Indexes(Switch::IndexConditionPushdown),
        "RANGE_OPTIMIZATION" => Meaning::Indexes(Switch::RangeOptimization),
        "SKIP_SCAN" => Meaning::Indexes(Switch::SkipScan),
        "INDEX_MERGE" => Meaning::Indexes(Switch::IndexMerge),
        "INDEX" => Meaning::Use(IndexHintScope::All),
        "JOIN_INDEX" => Meaning::Use(IndexHintScope::Join),
        "ORDER_INDEX" => Meaning::Use(IndexHintScope::OrderBy),
        "GROUP_INDEX" => Meaning::Use(IndexHintScope::GroupBy),
        "JOIN_ORDER" => Meaning::Order(OrderKind::Order),
        "JOIN_PREFIX" => Meaning::Order(OrderKind::Prefix),
        "JOIN_SUFFIX" => Meaning::Order(OrderKind::Suffix),
        "JOIN_FIXED_ORDER" => Meaning::FixedOrder,
        "SEMIJOIN" => Meaning::Semijoin,
        "SUBQUERY" => Meaning::Subquery,
        "STREAM_AGGREGATE" => Meaning::Block(Switch::StreamAggregate),
        _ => Meaning::Elsewhere,
    }
}

/// Strategies of semi joins: MySQL's word and the switch.
const STRATEGIES: [(&str, Switch); 4] = [
    ("FIRSTMATCH", Switch::Firstmatch),
    ("MATERIALIZATION", Switch::Materialization),
    ("LOOSESCAN", Switch::Loosescan),
    ("DUPSWEEDOUT", Switch::Duplicateweedout),
];

impl Binder<'_> {
    /// Begins a query block with the hints of its SELECT; returns the block around it, for
    /// [`end_block`](Self::end_block).
    pub fn begin_block(&mut self, select: &ast::Select, view_depth: usize) -> Option<usize> {
        let mut hints = Vec::new();
        for hint in &select.optimizer_hints {
            crate::hints::collect(&hint.text, &mut hints, &mut self.warnings);
        }
        let start = select.select_token.0.span.start;
        // Each use of a view is a text of its own.
        let text = if view_depth == 0 { 0 } else { self.blocks.len() + 1 };
        let around = self.block;
        self.push_block((text, start.line, start.column), hints);
        around
    }

    /// Begins the query block of an UPDATE or DELETE, with its hints.
    pub fn begin_statement_block(&mut self, text: Option<&str>) {
        let mut hints = Vec::new();
        if let Some(text) = text {
            crate::hints::collect(text, &mut hints, &mut self.warnings);
        }
        self.push_block((0, 0, 0), hints);
    }

    fn push_block(&mut self, place: Place, hints: Vec<OptimizerHint>) {
        let order = self.expressions.order(place);
        let expression = self.expressions.current();
        self.blocks.push(Block {
            place,
            order,
            expression,
            clauses: BlockClauses::default(),
            hints,
            tables: Vec::new(),
        });
        self.enter_block(Some(self.blocks.len() - 1));
    }

    pub fn end_block(&mut self, around: Option<usize>) {
        self.enter_block(around);
    }

    fn enter_block(&mut self, block: Option<usize>) {
        self.block = block;
        self.columns.begin_block(block.map(|position| BlockId(position as u32)));
    }

    /// Notes a table of the current block.
    pub fn note_table(&mut self, alias: &str, table: Option<Arc<TableDef>>, joined: &Joined) {
        let outputs: BTreeSet<ColId> = joined.from.columns.iter().map(|c| c.id).collect();
        let mut columns = outputs.clone();
        each_table(&joined.rel, &mut |ids| columns.extend(ids.iter().map(|(id, _)| *id)));
        if let Some(block) = self.block {
            self.blocks[block].tables.push(BlockTable { alias: alias.to_string(), table, columns, outputs });
        }
    }

    /// Returns true if a hint keeps a derived table of the current block apart from the query around it.
    pub fn is_kept_apart(&self, alias: &str) -> bool {
        let names: Vec<Option<&String>> = self.blocks.iter().map(Block::name).collect();
        let current = self.block;
        let speaks_of_it = |at: usize, hint: &OptimizerHint| {
            let own = |block: &Option<String>| match block {
                None => Some(at) == current,
                Some(name) => current.is_some_and(|c| names[c] == Some(name)),
            };
            let block = own(&hint.query_block);
            match hint.arguments.as_slice() {
                [] => block,
                tables => tables
                    .iter()
                    .any(|t| t.name == alias && if t.query_block.is_some() { own(&t.query_block) } else { block }),
            }
        };
        let mut hints = self.blocks.iter().enumerate().flat_map(|(at, b)| b.hints.iter().map(move |h| (at, h)));
        hints.any(|(at, hint)| hint.name == "NO_MERGE" && speaks_of_it(at, hint))
    }

    /// Looks up all names in hints; index hints are put at their tables.
    pub fn resolve_hints(&mut self, rel: &mut Rel) -> Hints {
        self.columns.blocks.blocks = self.numbered_blocks();
        let blocks = std::mem::take(&mut self.blocks);
        if blocks.iter().all(|b| b.hints.is_empty()) {
            return Hints::default();
        }
        let mut resolver = Resolver::new(&blocks);
        for (number, block) in resolver.first_of_each() {
            for hint in &blocks[block].hints {
                resolver.resolve(hint, number);
            }
        }
        let Resolver { mut switches, orders, indexes, warnings, .. } = resolver;
        switches.sort_by_key(|(rank, _)| *rank);
        self.warnings.extend(warnings);
        if !indexes.is_empty() {
            attach(rel, &indexes);
        }
        Hints { switches: switches.into_iter().map(|(_, hint)| hint).collect(), orders }
    }
}

impl Block {
    fn name(&self) -> Option<&String> {
        self.hints.iter().find(|h| h.name == "QB_NAME").and_then(|h| h.arguments.first()).map(|a| &a.name)
    }
}

/// The rank of a hint: one about an index counts before one about a table, and that before one about a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Block,
    Table,
    Index,
}

struct Resolver<'b> {
    blocks: &'b [Block],
    /// The number of each block in the text. A block that is bound more than once (WITH) has one.
    numbers: Vec<usize>,
    /// Names of the query blocks by their number.
    names: Vec<String>,
    switches: Vec<(Rank, SwitchHint)>,
    orders: Vec<OrderHint>,
    /// Index hints, each with a column of its table.
    indexes: Vec<(ColId, IndexHint)>,
    warnings: Vec<SqlError>,
    /// The settings made so far. A repetition contradicts one of them or has no effect.
    seen: BTreeSet<String>,
}

impl<'b> Resolver<'b> {
    fn new(blocks: &'b [Block]) -> Resolver<'b> {
        let mut places: Vec<_> = blocks.iter().map(|b| b.place).collect();
        places.sort_unstable();
        places.dedup();
        let number = |block: &Block| places.binary_search(&block.place).unwrap_or(0);
        let numbers: Vec<usize> = blocks.iter().map(number).collect();
        let mut names: Vec<String> = (1..=places.len()).map(|n| format!("select#{n}")).collect();
        for (block, number) in blocks.iter().zip(&numbers) {
            if let Some(name) = block.name() {
                names[*number].clone_from(name);
            }
        }
        Resolver {
            blocks,
            numbers,
            names,
            switches: Vec::new(),
            orders: Vec::new(),
            indexes: Vec::new(),
            warnings: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Number and position of the first block of each number, in the order of the text.
    fn first_of_each(&self) -> Vec<(usize, usize)> {
        let first = |n: usize| self.numbers.iter().position(|m| *m == n).map(|block| (n, block));
        (0..self.names.len()).filter_map(first).collect()
    }

    /// The number of a named block; `None` after warning 3127.
    fn block_named(&mut self, name: &Option<String>, own: usize, hint: &OptimizerHint) -> Option<usize> {
        let Some(name) = name else { return Some(own) };
        let label = |n: usize| format!("select#{}", n + 1);
        let found = (0..self.names.len()).find(|n| self.names[*n] == *name || label(*n) == *name);
        if found.is_none() {
            let message = format!("Query block name {} is not found for {} hint", quote(name), hint.name);
            self.warnings.push(SqlError::new(ErrorCode::UnknownQueryBlock, message));
        }
        found
    }

    fn unresolved(&mut self, table: &str, number: usize, index: Option<&str>, hint: &OptimizerHint) {
        let index = index.map(|i| format!(" {}", quote(i))).unwrap_or_default();
        let name = format!("{}@{}{index}", quote(table), quote(&self.names[number]));
        let message = format!("Unresolved name {name} for {} hint", hint.name);
        self.warnings.push(SqlError::new(ErrorCode::UnresolvedHintName, message));
    }

    /// Returns true if this is the first hint on a subject; else warning 3126.
    fn is_first(&mut self, subject: &str, hint: &OptimizerHint, shown: &str) -> bool {
        let first = self.seen.insert(subject.to_string());
        if !first {
            self.warnings.push(SqlError::conflicting_hint(&format!("{}({shown})", hint.name)));
        }
        first
    }

    /// The tables of this name in a block, wherever it is bound.
    fn tables_named(&self, number: usize, alias: &str) -> Vec<&'b BlockTable> {
        self.tables_of(number).into_iter().filter(|t| t.alias == alias).collect()
    }

    fn tables_of(&self, number: usize) -> Vec<&'b BlockTable> {
        let blocks = self.blocks.iter().zip(&self.numbers).filter(|(_, n)| **n == number);
        blocks.flat_map(|(b, _)| &b.tables).collect()
    }

    fn resolve(&mut self, hint: &OptimizerHint, own: usize) {
        let Some(block) = self.block_named(&hint.query_block, own, hint) else { return };
        let (name, on) = match hint.name.strip_prefix("NO_") {
            Some(name) => (name, false),
            None => (hint.name.as_str(), true),
        };
        match meaning(name) {
            Meaning::Elsewhere => {}
            Meaning::Tables(switches) => self.tables(hint, block, name, switches, on),
            Meaning::Indexes(switch) => self.indexes(hint, block, name, switch, on),
            Meaning::Use(scope) => self.index_use(hint, block, name, scope, on),
            Meaning::Order(kind) => self.order(hint, block, kind),
            Meaning::FixedOrder => {
                let shown = at(&self.names[block]);
                if self.is_first(&format!("order {block}"), hint, &shown) {
                    let tables = self.tables_of(block).into_iter().map(|t| t.columns.clone()).collect();
                    let text = format!("{}({shown})", hint.name);
                    self.orders.push(OrderHint { kind: OrderKind::Order, tables, text });
                }
            }
            Meaning::Semijoin => self.semijoin(hint, block, on),
            Meaning::Subquery => self.subquery(hint, block),
            Meaning::Block(switch) => {
                let shown = at(&self.names[block]);
                if self.is_first(&format!("{switch} {block}"), hint, &shown) {
                    self.block_switch(block, switch, on);
                }
            }
        }
    }

    fn block_switch(&mut self, block: usize, switch: Switch, on: bool) {
        let columns = self.tables_of(block).into_iter().flat_map(|t| t.columns.clone()).collect();
        let hint = SwitchHint { switch, on, target: HintTarget::Block, columns, indexes: None };
        self.switches.push((Rank::Block, hint));
    }

    fn table_switch(&mut self, rank: Rank, table: &BlockTable, switch: Switch, on: bool, indexes: Option<Vec<usize>>) {
        let (target, columns) = match &table.table {
            Some(_) => (HintTarget::Table, &table.columns),
            None => (HintTarget::Derived, &table.outputs),
        };
        self.switches.push((rank, SwitchHint { switch, on, target, columns: columns.clone(), indexes }));
    }

    /// `BKA([@qb] [t, ..])`.
    fn tables(&mut self, hint: &OptimizerHint, block: usize, name: &str, switches: &[Switch], on: bool) {
        if hint.arguments.is_empty() {
            let shown = at(&self.names[block]);
            if self.is_first(&format!("{name} {block}"), hint, &shown) {
                for table in self.tables_of(block) {
                    switches.iter().for_each(|switch| self.table_switch(Rank::Block, table, *switch, on, None));
                }
            }
            return;
        }
        for argument in &hint.arguments {
            let Some((number, tables)) = self.find(argument, block, hint) else { continue };
            let shown = self.shown(&argument.name, number, None);
            if !self.is_first(&format!("{name} {shown}"), hint, &shown) {
                continue;
            }
            for table in tables {
                switches.iter().for_each(|switch| self.table_switch(Rank::Table, table, *switch, on, None));
            }
        }
    }

    /// The tables an argument names, and their block; `None` after a warning.
    fn find(
        &mut self,
        argument: &HintArgument,
        block: usize,
        hint: &OptimizerHint,
    ) -> Option<(usize, Vec<&'b BlockTable>)> {
        let number = self.block_named(&argument.query_block, block, hint)?;
        let tables = self.tables_named(number, &argument.name);
        if tables.is_empty() {
            self.unresolved(&argument.name, number, None, hint);
            return None;
        }
        Some((number, tables))
    }

    fn shown(&self, table: &str, number: usize, index: Option<&str>) -> String {
        let index = index.map(|i| format!(" {}", quote(i))).unwrap_or_default();
        format!("{}@{}{index}", quote(table), quote(&self.names[number]))
    }

    /// The table and the indexes of `MRR([@qb] t [idx, ..])`; `None` after a warning, also when no table is named.
    #[allow(clippy::type_complexity, reason = "two lists")]
    fn table_and_indexes(
        &mut self,
        hint: &OptimizerHint,
        block: usize,
        name: &str,
    ) -> Option<(Vec<&'b BlockTable>, Vec<usize>)> {
        let Some((first, names)) = hint.arguments.split_first() else {
            let message = format!("Optimizer hint syntax error near '{}()' at line 1", hint.name);
            self.warnings.push(SqlError::new(ErrorCode::Parse, message));
            return None;
        };
        let (number, tables) = self.find(first, block, hint)?;
        let mut positions = Vec::new();
        for index in names {
            let found =
                tables[0].table.as_ref().and_then(|t| t.index(&index.name).filter(|i| *i > 0 || t.has_primary_key()));
            let Some(position) = found else {
                self.unresolved(&first.name, number, Some(&index.name), hint);
                continue;
            };
            let shown = self.shown(&first.name, number, Some(&index.name));
            if self.is_first(&format!("{name} {shown}"), hint, &shown) {
                positions.push(position);
            }
        }
        if names.is_empty() {
            let shown = self.shown(&first.name, number, None);
            return self.is_first(&format!("{name} {shown}"), hint, &shown).then_some((tables, positions));
        }
        (!positions.is_empty()).then_some((tables, positions))
    }

    fn indexes(&mut self, hint: &OptimizerHint, block: usize, name: &str, switch: Switch, on: bool) {
        let Some((tables, positions)) = self.table_and_indexes(hint, block, name) else { return };
        let (rank, positions) = match positions.is_empty() {
            true => (Rank::Table, None),
            false => (Rank::Index, Some(positions)),
        };
        tables.into_iter().for_each(|table| self.table_switch(rank, table, switch, on, positions.clone()));
    }

    fn index_use(&mut self, hint: &OptimizerHint, block: usize, name: &str, scope: IndexHintScope, on: bool) {
        let Some((tables, positions)) = self.table_and_indexes(hint, block, name) else { return };
        for table in tables {
            let (Some(def), Some(column)) = (&table.table, table.columns.first()) else { continue };
            let indexes = match positions.is_empty() {
                true => (0..def.indexes.len()).filter(|i| *i > 0 || def.has_primary_key()).collect(),
                false => positions.clone(),
            };
            let kind = if on { IndexHintKind::Force } else { IndexHintKind::Ignore };
            self.indexes.push((*column, IndexHint { kind, scope, indexes }));
        }
    }

    fn order(&mut self, hint: &OptimizerHint, block: usize, kind: OrderKind) {
        let mut tables = Vec::new();
        let mut shown = Vec::new();
        for argument in &hint.arguments {
            let Some((number, found)) = self.find(argument, block, hint) else { return };
            tables.push(found.iter().flat_map(|t| t.columns.clone()).collect());
            shown.push(self.shown(&argument.name, number, None));
        }
        let shown = shown.join(",");
        if kind == OrderKind::Order || self.is_first(&format!("{} {block}", hint.name), hint, &shown) {
            self.orders.push(OrderHint { kind, tables, text: format!("{}({shown})", hint.name) });
        }
    }

    /// `[NO_]SEMIJOIN([@qb] [strategy, ..])`.
    fn semijoin(&mut self, hint: &OptimizerHint, block: usize, on: bool) {
        let shown = format!("{} {}", at(&self.names[block]), strategies(&hint.arguments)).trim_end().to_string();
        if !self.is_first(&format!("semijoin {block}"), hint, &shown) {
            return;
        }
        if hint.arguments.is_empty() {
            self.block_switch(block, Switch::Semijoin, on);
            return;
        }
        let named = |word: &str| hint.arguments.iter().any(|a| a.name.eq_ignore_ascii_case(word));
        if on {
            self.block_switch(block, Switch::Semijoin, true);
        }
        for (word, switch) in STRATEGIES {
            if named(word) || on {
                self.block_switch(block, switch, named(word) == on);
            }
        }
    }

    /// `SUBQUERY([@qb] MATERIALIZATION | INTOEXISTS)`: no semi join.
    fn subquery(&mut self, hint: &OptimizerHint, block: usize) {
        let shown = format!("{} {}", at(&self.names[block]), strategies(&hint.arguments)).trim_end().to_string();
        if !self.is_first(&format!("semijoin {block}"), hint, &shown) {
            return;
        }
        let materialize = hint.arguments.first().is_some_and(|a| a.name.eq_ignore_ascii_case("MATERIALIZATION"));
        self.block_switch(block, Switch::Semijoin, false);
        self.block_switch(block, Switch::Materialization, materialize);
        self.block_switch(block, Switch::InToExists, !materialize);
    }
}

fn strategies(arguments: &[HintArgument]) -> String {
    arguments.iter().map(|a| a.name.to_ascii_uppercase()).collect::<Vec<_>>().join(", ")
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn at(block: &str) -> String {
    format!("@{}", quote(block))
}

fn each_table(rel: &Rel, f: &mut dyn FnMut(&[(ColId, usize)])) {
    if let Rel::Get { columns, .. } = rel {
        f(columns);
    }
    rel.inputs().into_iter().for_each(|input| each_table(input, f));
}

/// Puts index hints at the tables that have the columns; they count instead of those in FROM.
fn attach(rel: &mut Rel, all: &[(ColId, IndexHint)]) {
    if let Rel::Get { columns, hints, .. } = rel {
        let own = all.iter().filter(|(column, _)| columns.iter().any(|(id, _)| id == column));
        let own: Vec<IndexHint> = own.map(|(_, hint)| hint.clone()).collect();
        if !own.is_empty() {
            *hints = own;
        }
    }
    for expr in rel.exprs_mut() {
        attach_in(expr, all);
    }
    rel.inputs_mut().into_iter().for_each(|input| attach(input, all));
}

fn attach_in(expr: &mut muster_algebra::Expr, all: &[(ColId, IndexHint)]) {
    if let muster_algebra::Expr::Subquery(q) = expr {
        attach(&mut q.rel, all);
    }
    expr.children_mut().into_iter().for_each(|child| attach_in(child, all));
}
