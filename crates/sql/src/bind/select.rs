//! One SELECT: FROM, WHERE, the select list, GROUP BY, HAVING, DISTINCT, ORDER BY, LIMIT.
//!
//! ```text
//!   from -> Filter(where) -> Project(group expressions) -> Aggregate -> Filter(having)
//!        -> Project(outputs) -> Aggregate(distinct) -> Sort -> Limit -> Project(outputs alone)
//! ```
//! where the first Project, and those behind it, are there only if something is to compute.

use super::{
    aggregate::{GroupClause, Parts},
    binder::{Aggregates, Binder, BoundQuery},
    expr::ExprContext,
    order::{self, Limits},
    output::{Distinctness, Key},
    query::says_to_count,
    rollup::{RollupOrder, check_groupings, is_rollup, keep_constants_apart},
    scope::{Clause, FromClause, Names, Scope},
    star::plain_wildcard,
    written_null::lone_item,
};
use crate::{
    parse::is_reserved,
    typing::{Item, arithmetic::KEPT_DIGITS},
};
use muster_algebra::{BlockClauses, ColId, Expr, Rel};
use muster_types::{ErrorCode, Result, SqlError, SqlModes};
use sqlparser::ast::{self, Distinct, GroupByExpr, SelectItem, UnaryOperator};
use std::cell::RefCell;

/// An item of the select list.
#[derive(Debug, Clone)]
pub(crate) struct Selected<'q> {
    pub item: Item,
    pub name: String,
    /// `None` for what `*` stands for.
    pub ast: Option<&'q ast::Expr>,
    /// The name under which other clauses refer to it: its alias, or the name of the column that it is.
    pub alias: Option<String>,
    /// True if the alias was written.
    pub explicit: bool,
}

impl Selected<'_> {
    /// The value, and the text that it is shown as.
    fn exprs(&mut self) -> impl Iterator<Item = &mut Expr> {
        std::iter::once(&mut self.item.expr).chain(self.item.shown.as_deref_mut())
    }
}

impl Binder<'_> {
    pub fn select(
        &mut self,
        select: &ast::Select,
        names: &Names,
        order_by: &[ast::OrderByExpr],
        limits: Limits,
        ordered: bool,
    ) -> Result<BoundQuery> {
        refuse(select)?;
        let around = self.begin_block(select, names.view_depth);
        if select.select_modifiers.as_ref().is_some_and(|modifiers| modifiers.sql_no_cache) {
            let message = "'SQL_NO_CACHE' is deprecated and will be removed in a future release.";
            self.warn(ErrorCode::DeprecatedWithoutReplacement, message);
        }
        if says_to_count(select) {
            self.counts_found_rows()?;
        }
        let bound = self.select_block(select, names, order_by, limits, ordered);
        self.end_block(around);
        bound
    }

    /// Warning 1287 for SQL_CALC_FOUND_ROWS; error 1234 if it is not in the first SELECT.
    fn counts_found_rows(&mut self) -> Result<()> {
        let name = "SQL_CALC_FOUND_ROWS";
        if self.block != Some(0) {
            let message = format!("Incorrect usage/placement of '{name}'");
            return Err(SqlError::new(ErrorCode::CantUseOptionHere, message));
        }
        let message = format!(
            "{name} is deprecated and will be removed in a future release. Consider using two separate queries instead."
        );
        self.warn(ErrorCode::DeprecatedSyntax, message);
        Ok(())
    }

    fn select_block(
        &mut self,
        select: &ast::Select,
        names: &Names,
        order_by: &[ast::OrderByExpr],
        limits: Limits,
        ordered: bool,
    ) -> Result<BoundQuery> {
        let wants_from = std::mem::take(&mut self.wants_from);
        let is_for_client = std::mem::take(&mut self.is_for_client);
        let stored_texts = std::mem::take(&mut self.stored_texts);
        let straight = select.select_modifiers.as_ref().is_some_and(|m| m.straight_join);
        let joined = self.tables_of(&select.from, names, straight)?;
        let (mut rel, from) = (joined.rel, joined.from);
        let scope = Scope::within(&from, names.outer);
        if let Some(condition) = &select.selection {
            rel = self.filtered(rel, condition, &scope, names)?;
        }

        let windows = self.window_definitions(&select.named_window)?;
        let aggregates = RefCell::new(Aggregates { windows, ..Aggregates::default() });
        let mut selected = self.select_list(select, &scope, names, &aggregates)?;
        keep_digits(&mut selected, wants_from);
        self.check_unused_windows(&scope, names, &aggregates)?;
        let group = self.group_items(select, &scope, names, &selected, &aggregates)?;
        let cx = ExprContext::new(&scope, names, Clause::Having);
        let cx = ExprContext { selected: &selected, group: &group, aggregates: Some(&aggregates), ..cx };
        let mut having = self.having(select.having.as_ref(), cx)?;
        aggregates.borrow().windows.refuse_in_having(&having, &selected)?;
        let explicit_group = matches!(&select.group_by, GroupByExpr::Expressions(e, _) if !e.is_empty());
        let is_rollup = is_rollup(&select.group_by)?;
        let aggregated = explicit_group || aggregates.borrow().reduce_rows();
        let mut keys = self.sort_keys(order_by, &scope, names, &selected, &aggregates, aggregated)?;
        let mut aggregates = aggregates.into_inner();
        if !aggregated && !aggregates.reduce_rows() {
            let exprs = selected.iter_mut().flat_map(Selected::exprs).chain(&mut having);
            aggregates.replace_any_values(exprs.chain(keys.iter_mut().map(|k| &mut k.expr)));
        }
        check_groupings(&aggregates.groupings, is_rollup)?;
        let is_order_wanted = ordered || limits.is_set();
        if !is_order_wanted || aggregated && !explicit_group {
            // Without GROUP BY there is one row.
            keys.clear();
        }
        self.note_rows(&selected, aggregated, wants_from.then_some(&from));
        let calls = aggregates.results();
        let mut windows = std::mem::take(&mut aggregates.windows);
        let one_per_group = explicit_group && !is_rollup && are_selected(&group, &selected);
        let distinct = matches!(select.distinct, Some(Distinct::Distinct)) && !one_per_group;
        let mut order = RollupOrder { columns: Vec::new(), is_wanted: is_order_wanted, distinct };
        keep_constants_apart(&mut selected, select, is_rollup);
        if aggregated {
            let mut parts = parts(&mut selected, &mut having, &mut keys);
            parts.windows = windows.parts();
            let Aggregates { calls, groupings, .. } = aggregates;
            let groups = self.group(rel, &from, GroupClause { keys: group, is_rollup, calls, groupings }, parts)?;
            (rel, order.columns) = (groups.rel, groups.order);
        }
        if !having.is_empty() {
            rel = Rel::Filter { input: Box::new(rel), predicates: having };
        }
        let (rel, first) = self.in_rollup_order(rel, order, !windows.calls.is_empty(), &mut keys);
        let rel = self.windows(rel, windows);
        // Groups are rows of a temporary table, which has decimals.
        keep_shown(&mut selected, !distinct && is_for_client, if distinct || aggregated { &[] } else { &stored_texts });
        let (group_by, having, ordered) = (explicit_group, select.having.is_some(), !keys.is_empty());
        let limit = limits.count_or_all();
        self.set_clauses(BlockClauses { distinct, grouped: aggregated, group_by, having, ordered, limit });
        self.finish(rel, selected, keys, Distinctness { distinct, calls, first }, limits)
    }

    /// The rows of the FROM clause that pass the condition of WHERE.
    fn filtered(&mut self, rel: Rel, condition: &ast::Expr, scope: &Scope, names: &Names) -> Result<Rel> {
        let item = self.expression(condition, scope, names, Clause::Where)?;
        let predicates = self.conditions(item, scope.from);
        self.note_conditions(&predicates, scope);
        Ok(if predicates.is_empty() { rel } else { Rel::Filter { input: Box::new(rel), predicates } })
    }

    /// Notes which columns the conditions of WHERE determine. What they say of columns of a query around holds within
    /// this one only.
    fn note_conditions(&mut self, predicates: &[Expr], scope: &Scope) {
        let is_own = |p: &&Expr| p.columns().iter().any(|id| scope.distance(*id) == Some(0));
        let own: Vec<Expr> = predicates.iter().filter(is_own).cloned().collect();
        self.dependencies.add_conditions(&own);
    }

    /// Notes whether the block groups its rows, and if not the columns that its FROM clause has, if they are wanted. Of
    /// the first block it notes which names nobody has given.
    fn note_rows(&mut self, selected: &[Selected], aggregated: bool, wanted: Option<&FromClause>) {
        if self.block == Some(0) {
            let is_generated = |s: &Selected| !s.explicit && s.ast.is_some_and(|ast| column_name(ast).is_none());
            self.generated_names = selected.iter().map(is_generated).collect();
            let written =
                |s: &Selected| s.ast.filter(|_| !s.explicit).and_then(column_name).unwrap_or(&s.name).to_string();
            self.written_names = selected.iter().map(written).collect();
            self.aggregated = aggregated;
        }
        if !aggregated && let Some(from) = wanted {
            self.from = Some(from.clone());
        }
    }

    fn having(&mut self, condition: Option<&ast::Expr>, mut cx: ExprContext) -> Result<Vec<Expr>> {
        let Some(condition) = condition else { return Ok(Vec::new()) };
        let item = self.expr(condition, &mut cx)?;
        Ok(self.condition(item).into_conjuncts())
    }

    fn select_list<'q>(
        &mut self,
        select: &'q ast::Select,
        scope: &Scope,
        names: &Names,
        aggregates: &RefCell<Aggregates>,
    ) -> Result<Vec<Selected<'q>>> {
        let place = select.select_token.0.span.start;
        let mut found: Vec<Selected<'q>> = Vec::new();
        for (i, item) in select.projection.iter().enumerate() {
            let (expr, alias) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(bare_name(alias)?.to_string())),
                SelectItem::Wildcard(options) => {
                    plain_wildcard(options)?;
                    if scope.from.relations.is_empty() {
                        return Err(SqlError::new(ErrorCode::NoTablesUsed, "No tables used"));
                    }
                    found.extend(self.star(item, scope.from, scope.from.shown(), names));
                    continue;
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    plain_wildcard(options)?;
                    let of_table = super::star::columns_of_table(kind, scope.from)?;
                    found.extend(self.star(item, scope.from, of_table, names));
                    continue;
                }
                SelectItem::ExprWithAliases { .. } => return Err(SqlError::unsupported("several aliases")),
            };
            let mut cx = ExprContext {
                aggregates: Some(aggregates),
                listed: (&found, &select.projection[i..]),
                ..ExprContext::new(scope, names, Clause::FieldList)
            };
            let item = self.expr(expr, &mut cx)?;
            let is_subquery = matches!(&item.expr, Expr::Cast { arg, .. } if matches!(**arg, Expr::Subquery(_)));
            let item = if is_subquery { self.bare_unfilled(item) } else { self.bare(item) };
            let written = crate::statement::item_text(names.written, (place.line, place.column), i);
            let modes = self.env.session.sql_modes();
            let alias = alias.map(|alias| self.without_leading_spaces(alias));
            let name = alias.clone().or_else(|| self.declared_name(expr, scope.from));
            let name = name.unwrap_or_else(|| implicit_name(expr, written, modes));
            let explicit = alias.is_some();
            let alias = alias.or_else(|| column_name(expr).map(str::to_string));
            found.push(Selected { item, name, ast: Some(expr), alias, explicit });
        }
        Ok(found)
    }

    /// An alias as MySQL takes it. Warnings 1466 and 1474 for spaces that it begins with.
    fn without_leading_spaces(&mut self, alias: String) -> String {
        let name = alias.trim_start_matches(' ').to_owned();
        match (name == alias, name.is_empty()) {
            (true, _) => {}
            (_, true) => self.warn(ErrorCode::NameBecomesEmpty, format!("Name '{alias}' has become ''")),
            _ => self.warn(ErrorCode::RemovedSpaces, format!("Leading spaces are removed from name '{alias}'")),
        }
        name
    }

    /// GROUP BY: positions, columns, aliases, expressions.
    fn group_items(
        &mut self,
        select: &ast::Select,
        scope: &Scope,
        names: &Names,
        selected: &[Selected],
        aggregates: &RefCell<Aggregates>,
    ) -> Result<Vec<Item>> {
        let GroupByExpr::Expressions(exprs, _) = &select.group_by else {
            return Err(SqlError::unsupported("GROUP BY ALL"));
        };
        let mut items = Vec::with_capacity(exprs.len());
        for expr in exprs {
            if matches!(expr, ast::Expr::Rollup(_) | ast::Expr::Cube(_) | ast::Expr::GroupingSets(_)) {
                return Err(SqlError::syntax(expr, 1));
            }
            let chosen = order::position(expr, selected.len(), Clause::GroupBy)?;
            let item = match chosen {
                Some(i) => selected[i].item.clone(),
                None => {
                    let mut cx = ExprContext { selected, ..ExprContext::new(scope, names, Clause::GroupBy) };
                    let expr = without_query(expr);
                    match self.group_name(expr, &mut cx)? {
                        Some(item) => item,
                        None => self.expr(expr, &mut cx)?,
                    }
                }
            };
            let item = self.bare(item);
            if let Some(i) = chosen.or_else(|| selected.iter().position(|s| s.item == item))
                && !item.expr.columns().is_empty()
                && self.mentions_aggregate(&item.expr, scope)
            {
                let name = match item.expr.columns().iter().any(|id| aggregates.borrow().is_grouping(id)) {
                    true => "GROUPING function",
                    false => &selected[i].name,
                };
                return Err(SqlError::new(ErrorCode::WrongGroupField, format!("Can't group on '{name}'")));
            }
            items.push(item);
        }
        Ok(items)
    }

    /// Returns true if the expression holds a column that is neither of this FROM clause nor of one around it.
    fn mentions_aggregate(&self, expr: &Expr, scope: &Scope) -> bool {
        let known = |id: &ColId| {
            let mut link = Some(scope);
            while let Some(s) = link {
                if s.from.columns.iter().any(|c| c.id == *id) {
                    return true;
                }
                link = s.parent;
            }
            false
        };
        expr.columns().iter().any(|c| !known(c))
    }

    /// The keys of ORDER BY. `aggregated`: whether the rest of the query makes groups. Error 3029 for an aggregate
    /// function that would be the only reason to.
    fn sort_keys(
        &mut self,
        order_by: &[ast::OrderByExpr],
        scope: &Scope,
        names: &Names,
        selected: &[Selected],
        aggregates: &RefCell<Aggregates>,
        aggregated: bool,
    ) -> Result<Vec<Key>> {
        let mut keys = Vec::with_capacity(order_by.len());
        for (i, key) in order_by.iter().enumerate() {
            let descending = order::descending(key)?;
            let expr = match order::position(&key.expr, selected.len(), Clause::OrderBy)? {
                Some(i) => selected[i].item.expr.clone(),
                None => match by_alias(&key.expr, selected)? {
                    Some(i) => selected[i].item.expr.clone(),
                    None => {
                        let mut cx = ExprContext {
                            selected,
                            aggregates: Some(aggregates),
                            ..ExprContext::new(scope, names, Clause::OrderBy)
                        };
                        let item = self.expr(&key.expr, &mut cx)?;
                        self.bare(item).expr
                    }
                },
            };
            if !aggregated && aggregates.borrow().reduce_rows() {
                return Err(SqlError::new(
                    ErrorCode::AggregateOrderNonAggQuery,
                    format!(
                        "Expression #{} of ORDER BY contains aggregate function and applies to the result of a \
                         non-aggregated query",
                        i + 1
                    ),
                ));
            }
            // A value from a query around is the same for all rows.
            let is_of_outer = |id: &ColId| scope.distance(*id).is_some_and(|distance| distance > 0);
            let is_outer = matches!(&expr, Expr::Column(id) if is_of_outer(id) || is_aggregate_around(scope, *id));
            if !matches!(expr, Expr::Literal { .. }) && !is_outer {
                keys.push(Key { expr, descending, number: i + 1 });
            }
        }
        Ok(keys)
    }
}

/// Returns true for the column of an aggregate function that belongs to a query around.
fn is_aggregate_around(scope: &Scope, id: ColId) -> bool {
    let mut places = scope.outwards().skip(1).filter_map(|scope| scope.offered.aggregates);
    places.any(|place| place.borrow().calls.iter().any(|(call, _)| *call == id))
}

/// The expressions that are computed from groups. The texts that values are shown as stand behind the items of the
/// list, which errors number.
fn parts<'x>(selected: &'x mut [Selected], having: &'x mut [Expr], keys: &'x mut [Key]) -> Parts<'x> {
    let (outputs, shown): (Vec<_>, Vec<_>) =
        selected.iter_mut().map(|s| (&mut s.item.expr, s.item.shown.as_deref_mut())).unzip();
    Parts {
        outputs: outputs.into_iter().chain(shown.into_iter().flatten()).collect(),
        having: having.iter_mut().collect(),
        keys: keys.iter_mut().map(|k| &mut k.expr).collect(),
        windows: Vec::new(),
    }
}

/// Returns true if all that is grouped by is selected: groups, which differ in it, are distinct rows.
fn are_selected(group: &[Item], selected: &[Selected]) -> bool {
    group.iter().all(|key| selected.iter().any(|selected| selected.item.expr == key.expr))
}

/// Drops the texts that decimals are shown as, unless all are for a client; those of columns that are stored as texts
/// stay.
fn keep_shown(selected: &mut [Selected], all: bool, stored_texts: &[bool]) {
    for (i, s) in selected.iter_mut().enumerate() {
        if !all && !stored_texts.get(i).is_some_and(|is_text| *is_text) {
            s.item.shown = None;
        }
    }
}

/// Rows that are `inserted` have the digits that a quotient keeps beyond those that it shows.
fn keep_digits(selected: &mut [Selected], inserted: bool) {
    for selected in selected.iter_mut().filter(|_| inserted) {
        selected.item = selected.item.clone().unrounded(KEPT_DIGITS);
    }
}

/// A name of the statement. Error 1064 for a reserved word outside of quotes.
pub(crate) fn bare_name(name: &ast::Ident) -> Result<&str> {
    match name.quote_style {
        None if is_reserved(&name.value) => Err(SqlError::syntax(&name.value, 1)),
        _ => Ok(&name.value),
    }
}

/// ORDER BY looks at the select list first when a bare name stands alone. The first item that is no column wins, and
/// has its name also without an alias: `'a'` is called `a` (MySQL: `find_item_in_list`).
fn by_alias(expr: &ast::Expr, selected: &[Selected]) -> Result<Option<usize>> {
    let ast::Expr::Identifier(name) = expr else { return Ok(None) };
    let is_meant = |s: &Selected| is_computed(s) && s.name.eq_ignore_ascii_case(&name.value);
    if let Some(computed) = selected.iter().position(is_meant) {
        return Ok(Some(computed));
    }
    find_alias(&name.value, selected, Clause::OrderBy)
}

/// Returns true for a select item that is no column.
fn is_computed(selected: &Selected) -> bool {
    selected.ast.is_some_and(|ast| column_name(ast).is_none())
}

/// The select item that a name means; written aliases before names of columns. Error 1052 when it means several. In
/// HAVING the first item that is no column wins.
pub(crate) fn find_alias(name: &str, selected: &[Selected], clause: Clause) -> Result<Option<usize>> {
    let is = |s: &Selected| s.alias.as_ref().is_some_and(|a| a.eq_ignore_ascii_case(name));
    if clause == Clause::Having
        && let Some(computed) = selected.iter().position(|s| is_computed(s) && is(s))
    {
        return Ok(Some(computed));
    }
    for explicit in [true, false] {
        // HAVING does not ask which names were written as aliases.
        let counts = |s: &Selected| s.explicit == explicit || clause == Clause::Having;
        let mut found = (0..selected.len()).filter(|i| counts(&selected[*i]) && is(&selected[*i]));
        let Some(first) = found.next() else { continue };
        if found.any(|i| selected[i].item.expr != selected[first].item.expr) {
            return Err(SqlError::new(
                ErrorCode::NonUniq,
                format!("Column '{name}' in {} is ambiguous", clause.name()),
            ));
        }
        return Ok(Some(first));
    }
    Ok(None)
}

/// Clauses that sqlparser reads and MySQL or Muster does not have.
fn refuse(select: &ast::Select) -> Result<()> {
    if select.into.is_some() {
        let message = "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION \
                       clauses.";
        return Err(SqlError::new(ErrorCode::MisplacedInto, message));
    }
    for (present, what) in [
        (select.qualify.is_some(), "QUALIFY"),
        (select.top.is_some(), "TOP"),
        (matches!(select.distinct, Some(Distinct::On(_))), "DISTINCT ON"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.exclude.is_some(), "EXCLUDE"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty() || !select.distribute_by.is_empty(), "CLUSTER BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.value_table_mode.is_some(), "SELECT AS STRUCT"),
    ] {
        if present {
            return Err(SqlError::unsupported(what));
        }
    }
    Ok(())
}

/// What is grouped by: a subquery that is nothing but an item is that item.
fn without_query(expr: &ast::Expr) -> &ast::Expr {
    match expr {
        ast::Expr::Nested(inner) => without_query(inner),
        ast::Expr::Subquery(query) => lone_item(query).filter(|item| is_of_columns(item)).unwrap_or(expr),
        _ => expr,
    }
}

/// Returns true for columns and operators over them: no aggregate function is among these.
fn is_of_columns(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) | ast::Expr::Value(_) => true,
        ast::Expr::Nested(inner) | ast::Expr::UnaryOp { expr: inner, .. } => is_of_columns(inner),
        ast::Expr::BinaryOp { left, right, .. } => is_of_columns(left) && is_of_columns(right),
        _ => false,
    }
}

/// The name of the column that the expression is.
pub(super) fn column_name(expr: &ast::Expr) -> Option<&str> {
    match expr {
        ast::Expr::Identifier(i) if !i.value.starts_with('@') => Some(&i.value),
        ast::Expr::CompoundIdentifier(parts) if !parts[0].value.starts_with('@') => {
            parts.last().map(|i| i.value.as_str())
        }
        ast::Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}

/// The name that `NAME_CONST(name, value)` gives.
fn named_constant(expr: &ast::Expr) -> Option<&str> {
    let ast::Expr::Function(function) = expr else { return None };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let is_name_const = function.name.to_string().eq_ignore_ascii_case("NAME_CONST");
    match list.args.first() {
        Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Value(name)))) if is_name_const => {
            match &name.value {
                ast::Value::SingleQuotedString(name) | ast::Value::DoubleQuotedString(name) => Some(name),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The name that MySQL gives a result column without alias: a column's name, a string's value, else the text as
/// written.
fn implicit_name(expr: &ast::Expr, written: Option<&str>, modes: SqlModes) -> String {
    let mut inner = expr;
    while let ast::Expr::Nested(operand) | ast::Expr::UnaryOp { op: UnaryOperator::Plus, expr: operand } = inner {
        inner = operand;
    }
    if let Some(name) = column_name(inner).or_else(|| named_constant(expr)) {
        return name.to_string();
    }
    let written = written.unwrap_or_default();
    let is_wrapped = |c: char| matches!(c, '+' | '(' | ' ');
    let bare = match inner {
        ast::Expr::Value(_) | ast::Expr::Prefixed { .. } if inner != expr => {
            written.trim_start_matches(is_wrapped).trim_end_matches([')', ' '])
        }
        _ => written,
    };
    let value = match inner {
        ast::Expr::Prefixed { value, .. } => value,
        other => other,
    };
    if let ast::Expr::Value(v) = value {
        match &v.value {
            ast::Value::SingleQuotedString(s)
            | ast::Value::DoubleQuotedString(s)
            | ast::Value::NationalStringLiteral(s) => {
                let first = crate::parse::first_of_literals(bare, modes);
                return first.as_ref().unwrap_or(s).trim_start_matches(' ').to_owned();
            }
            ast::Value::Null => return "NULL".into(),
            ast::Value::Placeholder(_) => return "?".into(),
            _ => {}
        }
    }
    if bare.is_empty() { expr.to_string() } else { bare.to_owned() }
}
