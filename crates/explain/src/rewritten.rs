//! The query that the optimizer has made of a statement, as `SHOW WARNINGS` tells it after EXPLAIN (note 1003; MySQL
//! manual 10.8.3). Semi and anti joins stand in FROM.
//!
//! ```text
//!   Writer        queries                                          here
//!   ChangeText    INSERT, REPLACE, UPDATE and DELETE around them   rewritten/change.rs
//! ```

mod change;

pub use change::{ChangeText, GivenValue};

use crate::{
    names::{column_text, from_table, quote},
    query_block::shown_name,
};
use muster_algebra::{
    AggregateCall, BlockId, ColId, Columns, Expr, JoinKind, JsonTable, ROLLED_UP, Rel, Rollup, SortKey, Subquery,
    SubqueryKind, Window, expr_text::Printer, lateral_outputs,
};
use std::{cell::RefCell, collections::HashMap};

/// The text of a rewritten relation. `outputs`: the columns of the result with their names.
pub fn rewritten(rel: &Rel, outputs: &[(ColId, String)], columns: &Columns) -> String {
    let writer = Writer { columns, computed: RefCell::default() };
    writer.query(rel, Some(outputs), 1)
}

struct Writer<'a> {
    columns: &'a Columns,
    /// What computed columns stand for.
    computed: RefCell<HashMap<ColId, String>>,
}

/// The clauses of one SELECT.
#[derive(Default)]
struct Select {
    from: String,
    conditions: Vec<String>,
    group: Vec<String>,
    /// The keys of WITH ROLLUP, as they stand in GROUP BY.
    rollup: Vec<String>,
    having: Vec<String>,
    order: Vec<String>,
    limit: Option<String>,
    items: Vec<ColId>,
    distinct: bool,
    grouped: bool,
    /// A whole query, of a set operation.
    text: Option<String>,
}

impl Select {
    /// Returns true if its tables and conditions can be part of another SELECT.
    fn is_plain(&self) -> bool {
        !self.grouped && !self.distinct && self.limit.is_none() && self.text.is_none()
    }
}

impl Writer<'_> {
    fn query(&self, rel: &Rel, outputs: Option<&[(ColId, String)]>, number: u32) -> String {
        let select = self.select(rel);
        self.finish(select, outputs, number)
    }

    fn finish(&self, select: Select, outputs: Option<&[(ColId, String)]>, number: u32) -> String {
        if let Some(text) = &select.text {
            return with_tail(text.clone(), &select);
        }
        let own = || select.items.iter().map(|id| (*id, shown_name(self.columns, *id))).collect();
        let items: Vec<(ColId, String)> = outputs.map_or_else(own, <[_]>::to_vec);
        let items: Vec<String> =
            items.iter().map(|(id, name)| format!("{} AS {}", bare(self.column(*id)), quote(name))).collect();
        let distinct = if select.distinct { "distinct " } else { "" };
        let items = if items.is_empty() { "1 AS `1`".to_string() } else { items.join(",") };
        let mut text = format!("/* select#{number} */ select {distinct}{items}");
        if !select.from.is_empty() {
            text.push_str(&format!(" from {}", select.from));
        }
        text.push_str(&joined_conditions(" where ", &select.conditions));
        if !select.rollup.is_empty() {
            text.push_str(&format!(" group by {} with rollup", select.rollup.join(",")));
        } else if !select.group.is_empty() {
            text.push_str(&format!(" group by {}", select.group.join(",")));
        }
        text.push_str(&joined_conditions(" having ", &select.having));
        with_tail(text, &select)
    }

    fn select(&self, rel: &Rel) -> Select {
        match rel {
            Rel::Get { table, alias, columns, .. } => {
                let from = from_table(&table.database, &table.name, alias);
                Select { from, items: columns.iter().map(|(id, _)| *id).collect(), ..Select::default() }
            }
            Rel::Values { columns, rows } => {
                if let [row] = rows.as_slice() {
                    columns.iter().zip(row).for_each(|(id, expr)| self.define(*id, self.expr(expr)));
                }
                let conditions = if rows.is_empty() { vec!["false".into()] } else { Vec::new() };
                Select { items: columns.clone(), conditions, ..Select::default() }
            }
            Rel::Filter { input, predicates } => {
                let mut select = self.select(input);
                let texts = predicates.iter().map(|p| self.expr(p));
                if select.grouped {
                    select.having.extend(texts)
                } else {
                    select.conditions.extend(texts)
                }
                select
            }
            Rel::Project { input, exprs } => {
                let mut select = self.select(input);
                for (id, expr) in exprs {
                    if *expr != Expr::Column(*id) {
                        self.define(*id, self.expr(expr));
                    }
                }
                select.items = exprs.iter().map(|(id, _)| *id).collect();
                select
            }
            Rel::Aggregate { input, group, aggregates } => self.aggregate(input, group, aggregates),
            Rel::Working { name, columns, .. } => of_table(name, columns),
            Rel::Recursive { recursion, .. } => of_table(&recursion.name, &recursion.columns),
            Rel::Rollup { input, rollup } => self.rollup(input, rollup),
            Rel::Window { input, window } => self.window(input, window),
            Rel::Sort { input, keys } => {
                let mut select = self.select(input);
                // The order of a rollup's groups is not written.
                let written = keys.iter().take_while(|key| !self.is_of_rollup(key));
                select.order = written.map(|key| self.sort_key(key)).collect();
                select
            }
            Rel::Limit { input, offset, count } => {
                let mut select = self.select(input);
                if select.limit.is_some() {
                    select = self.as_derived(select, input);
                }
                let count = count.unwrap_or(u64::MAX);
                select.limit = Some(if *offset > 0 { format!("{offset},{count}") } else { count.to_string() });
                select
            }
            Rel::Join { kind, left, right, on, .. } => self.join(*kind, left, right, on),
            Rel::Lateral { input, rows, keeps } => self.lateral(input, rows, *keeps),
            Rel::JsonTable { input, table, keeps } => self.json_table(input, table, *keeps),
            Rel::Union { inputs, columns } => {
                let texts: Vec<String> = inputs.iter().map(|(input, ids)| self.operand(input, ids)).collect();
                Select { text: Some(texts.join(" union all ")), items: columns.clone(), ..Select::default() }
            }
        }
    }

    fn lateral(&self, input: &Rel, rows: &Expr, keeps: bool) -> Select {
        let mut select = self.plain(input);
        let word = if keeps { "left join lateral" } else { "join lateral" };
        let on = if keeps { " on(true)" } else { "" };
        select.from = format!("{} {word} {}{on}", select.from, self.expr(rows));
        select.items.extend(lateral_outputs(rows));
        select
    }

    fn json_table(&self, input: &Rel, table: &JsonTable, keeps: bool) -> Select {
        let mut select = self.plain(input);
        let function = format!(
            "json_table({}, '{}' columns {}) {}",
            self.expr(&table.document),
            table.rows.path.replace('\'', "''"),
            table.columns_text,
            quote(&table.alias)
        );
        select.from = match (select.from.is_empty(), keeps) {
            (true, _) => function,
            (false, false) => format!("{} join {function}", select.from),
            (false, true) => format!("{} left join {function} on(true)", select.from),
        };
        select.items.extend(&table.outputs);
        select
    }

    /// A rollup is told with the aggregate above it.
    fn rollup(&self, input: &Rel, rollup: &Rollup) -> Select {
        let mut select = self.plain(input);
        select.rollup = rollup.sources().map(|id| self.column(id)).collect();
        for (position, key) in rollup.keys.iter().enumerate() {
            self.define(key.id, format!("rollup_group_item({},{position})", self.column(key.source)));
        }
        select.items.extend(rollup.columns());
        select
    }

    fn window(&self, input: &Rel, window: &Window) -> Select {
        let mut select = self.select(input);
        let texts = crate::window::calls(window, &|e| self.expr(e), &|key| self.sort_key(key), false);
        for (id, text) in texts {
            self.define(id, text);
            select.items.push(id);
        }
        select
    }

    fn operand(&self, input: &Rel, ids: &[ColId]) -> String {
        let outputs: Vec<(ColId, String)> = ids.iter().map(|id| (*id, shown_name(self.columns, *id))).collect();
        self.query(input, Some(&outputs), self.number(input))
    }

    fn aggregate(&self, input: &Rel, group: &[ColId], aggregates: &[(ColId, AggregateCall)]) -> Select {
        let mut select = self.select(input);
        if let Some(text) = select.text.take() {
            // The rows of a set operation, made distinct.
            let distinct = text.replace(" union all ", " union ");
            return Select { text: Some(distinct), items: group.to_vec(), ..Select::default() };
        }
        if aggregates.is_empty() && select.grouped && !select.distinct {
            return Select { distinct: true, items: group.to_vec(), ..select };
        }
        if !select.is_plain() {
            select = self.as_derived(select, input);
        }
        let is_rollup = !select.rollup.is_empty();
        if aggregates.is_empty() && !is_rollup {
            return Select { distinct: true, items: group.to_vec(), ..select };
        }
        for (id, call) in aggregates {
            let text = self.with_printer(|printer| printer.aggregate(call));
            self.define(*id, if is_rollup { format!("rollup_sum_switcher({text})") } else { text });
        }
        let group_texts = group.iter().map(|id| self.column(*id)).collect();
        let items = group.iter().copied().chain(aggregates.iter().map(|(id, _)| *id)).collect();
        Select { group: group_texts, items, grouped: true, ..select }
    }

    fn join(&self, kind: JoinKind, left: &Rel, right: &Rel, on: &[Expr]) -> Select {
        let (mut select, mut other) = (self.plain(left), self.plain(right));
        let conditions: Vec<String> = on.iter().map(|condition| self.expr(condition)).collect();
        let is_inner = matches!(kind, JoinKind::Inner | JoinKind::Semi);
        if is_inner {
            select.conditions.append(&mut other.conditions);
            select.conditions.extend(conditions);
        } else {
            other.conditions.extend(conditions);
        }
        let on = joined_conditions("", &other.conditions);
        let (from, right) = (&select.from, &other.from);
        select.from = match kind {
            _ if right.is_empty() => from.clone(),
            _ if from.is_empty() => right.clone(),
            JoinKind::Inner => format!("{from} join {right}"),
            JoinKind::Semi => format!("{from} semi join ({right})"),
            JoinKind::Left => format!("{from} left join {right} on({on})"),
            JoinKind::Anti | JoinKind::NullAwareAnti => format!("{from} anti join ({right}) on({on})"),
        };
        if matches!(kind, JoinKind::Inner | JoinKind::Left) {
            select.items.extend(other.items);
        }
        select
    }

    fn plain(&self, rel: &Rel) -> Select {
        let select = self.select(rel);
        if select.is_plain() { select } else { self.as_derived(select, rel) }
    }

    /// A SELECT as a derived table of another one. What it computes has the name of the table from here on.
    fn as_derived(&self, select: Select, rel: &Rel) -> Select {
        let block = first_block(rel, self.columns);
        let number = self.number(rel);
        let place = block.and_then(|id| self.columns.blocks.get(id)).map(|block| block.place.clone());
        let alias = match place {
            Some(muster_algebra::BlockPlace::Derived(alias)) => alias,
            _ => format!("<subquery{number}>"),
        };
        let items = select.items.clone();
        let text = self.finish(select, None, number);
        for id in &items {
            self.define(*id, format!("{}.{}", quote(&alias), quote(&shown_name(self.columns, *id))));
        }
        Select { from: format!("({text}) {}", quote(&alias)), items, ..Select::default() }
    }

    /// MySQL's number of the block that a relation comes from.
    fn number(&self, rel: &Rel) -> u32 {
        first_block(rel, self.columns).and_then(|id| self.columns.blocks.get(id)).map_or(1, |block| block.number)
    }

    fn define(&self, id: ColId, text: String) {
        self.computed.borrow_mut().insert(id, text);
    }

    fn column(&self, id: ColId) -> String {
        let known = self.computed.borrow().get(&id).cloned();
        known.unwrap_or_else(|| column_text(self.columns, id))
    }

    fn expr(&self, expr: &Expr) -> String {
        self.with_printer(|printer| printer.expr(expr))
    }

    fn is_of_rollup(&self, key: &SortKey) -> bool {
        matches!(key.expr, Expr::Column(id) if self.columns.get(id).name == ROLLED_UP)
    }

    fn sort_key(&self, key: &SortKey) -> String {
        format!("{}{}", bare(self.expr(&key.expr)), if key.descending { " desc" } else { "" })
    }

    fn with_printer(&self, print: impl FnOnce(&Printer<'_>) -> String) -> String {
        let name = |id| self.column(id);
        let subquery = |subquery: &Subquery| {
            let ids: &[ColId] =
                if matches!(subquery.kind, SubqueryKind::Exists { .. }) { &[] } else { &subquery.outputs };
            format!("({})", self.operand(&subquery.rel, ids))
        };
        print(&Printer { name: &name, subplan: &|_| "(select)".into(), subquery: &subquery })
    }
}

/// The block of the first table of a relation, or of its first column.
fn first_block(rel: &Rel, columns: &Columns) -> Option<BlockId> {
    fn of_table(rel: &Rel, columns: &Columns) -> Option<BlockId> {
        if let Rel::Get { columns: own, .. } = rel {
            return own.first().and_then(|(id, _)| columns.blocks.made(*id));
        }
        rel.inputs().into_iter().find_map(|input| of_table(input, columns))
    }
    let made = || rel.output().into_iter().find_map(|id| columns.blocks.made(id));
    of_table(rel, columns).or_else(made).map(|id| columns.blocks.effective(id))
}

/// All conditions together, behind a word; nothing without any.
fn joined_conditions(word: &str, conditions: &[String]) -> String {
    match conditions {
        [] if word.is_empty() => "true".into(),
        [] => String::new(),
        [one] => format!("{word}{one}"),
        many => format!("{word}({})", many.join(" and ")),
    }
}

/// A text without the parentheses around the whole.
fn bare(text: String) -> String {
    let Some(inside) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return text };
    let mut depth = 0i32;
    // They belong together if none between them closes the first one.
    let belong = inside.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0
    });
    if belong && !inside.starts_with("/*") { inside.to_string() } else { text }
}

fn with_tail(mut text: String, select: &Select) -> String {
    if !select.order.is_empty() {
        text.push_str(&format!(" order by {}", select.order.join(",")));
    }
    if let Some(limit) = &select.limit {
        text.push_str(&format!(" limit {limit}"));
    }
    text
}

/// All columns of a table of WITH RECURSIVE.
fn of_table(name: &str, columns: &[ColId]) -> Select {
    Select { from: quote(name), items: columns.to_vec(), ..Select::default() }
}
