//! Columns, aliases of the select list, variables.

use super::ExprContext;
use crate::{
    VariableScope,
    bind::{
        binder::Binder,
        declared::as_operand,
        scope::{Clause, Scope},
        select::{bare_name, find_alias},
    },
    typing::Item,
};
use muster_algebra::{ColId, ColumnUse, Expr};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};
use sqlparser::ast;

/// Digits behind the point that a system variable shows.
const VARIABLE_DECIMALS: u8 = 6;

/// Returns true for the digits of a bit literal; what has others is a name.
fn is_bits(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|b| matches!(b, b'0' | b'1'))
}

impl Binder<'_> {
    pub fn name(&mut self, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        let parts: Vec<&ast::Ident> = match expr {
            ast::Expr::Identifier(name) => vec![name],
            ast::Expr::CompoundIdentifier(names) => names.iter().collect(),
            _ => return Err(SqlError::internal("not a name")),
        };
        let texts: Vec<&str> = parts.iter().map(|p| p.value.as_str()).collect();
        if parts[0].quote_style.is_none() {
            if let Some(first) = texts[0].strip_prefix("@@") {
                return self.system_variable(first, &texts[1..]);
            }
            if let Some(first) = texts[0].strip_prefix('@') {
                let name = [&[first], &texts[1..]].concat().join(".");
                return Ok(self.user_variable(&name, cx));
            }
            // `0b01`: the tokenizer takes it for a word.
            if let Some(digits) = texts[0].strip_prefix("0b").filter(|d| is_bits(d) && texts.len() == 1) {
                return self.value(&ast::Value::SingleQuotedByteStringLiteral(digits.to_string()));
            }
        }
        bare_name(parts[0])?;
        self.column(&texts, cx)
    }

    fn system_variable(&mut self, first: &str, rest: &[&str]) -> Result<Item> {
        let (scope, name) = match (first.to_ascii_lowercase().as_str(), rest) {
            ("global", [_, ..]) => (Some(VariableScope::Global), rest.join(".")),
            ("session" | "local", [_, ..]) => (Some(VariableScope::Session), rest.join(".")),
            _ => (None, [&[first], rest].concat().join(".")),
        };
        self.uses_variables = true;
        let value = self.env.session.system_variable(scope, &name.to_ascii_lowercase())?;
        let mut item = self.system_text(value);
        if let (Some(Value::Bool(b)), SqlType::Bool) = (item.as_literal(), item.ty) {
            return Ok(Item::literal(Value::Int(*b as i64), SqlType::BIGINT));
        }
        if item.ty == SqlType::Double {
            item.decimals = Some(VARIABLE_DECIMALS);
        }
        Ok(item)
    }

    /// A column by name. Where an alias may be meant, the clause decides which is looked for first.
    fn column(&mut self, parts: &[&str], cx: &mut ExprContext) -> Result<Item> {
        let clause = cx.clause;
        if clause == Clause::Having && !cx.in_aggregate {
            return self.having_column(parts, cx);
        }
        if let Some(id) = cx.scope.from.find(parts, clause.name())? {
            return Ok(self.read_column(id));
        }
        if let [name] = parts
            && let Some(item) = self.alias(name, cx)?
        {
            return Ok(item);
        }
        self.outer_column(parts, cx)
    }

    /// A bare name in GROUP BY, when the select list has it. A column of the tables wins over another meaning of the
    /// name in the select list, with warning 1052; a name that several tables have is the select item. Errors: 1052
    /// when several select items have the name. `None` for what is no such name.
    pub fn group_name(&mut self, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Option<Item>> {
        let ast::Expr::Identifier(name) = expr else { return Ok(None) };
        let Some(i) = find_alias(&name.value, cx.selected, cx.clause)? else { return Ok(None) };
        let Ok(Some(column)) = cx.scope.from.find(&[&name.value], cx.clause.name()) else {
            return self.alias(&name.value, cx);
        };
        if cx.selected[i].item.expr != Expr::Column(column) {
            let message = format!("Column '{}' in {} is ambiguous", name.value, cx.clause.name());
            self.warn(ErrorCode::NonUniq, message);
        }
        Ok(Some(self.read_column(column)))
    }

    /// HAVING sees what is grouped by, then the select list; of the tables only what is in one of them.
    fn having_column(&mut self, parts: &[&str], cx: &mut ExprContext) -> Result<Item> {
        let own = cx.scope.from.find(parts, cx.clause.name()).unwrap_or(None);
        if let Some(id) = own
            && cx.group.iter().any(|g| g.expr == Expr::Column(id))
        {
            return Ok(self.read_column(id));
        }
        if let [name] = parts
            && let Some(item) = self.alias(name, cx)?
        {
            return Ok(item);
        }
        if let Some(id) = own
            && cx.selected.iter().any(|s| s.item.expr == Expr::Column(id))
        {
            return Ok(self.read_column(id));
        }
        self.outer_column(parts, cx)
    }

    /// A column of a query around, the nearest first, or an item of its select list.
    fn outer_column(&mut self, parts: &[&str], cx: &ExprContext) -> Result<Item> {
        for scope in cx.scope.outwards().skip(1) {
            if let Some(id) = scope.from.find(parts, cx.clause.name())? {
                return Ok(self.read_column(id));
            }
            if let [name] = parts
                && let Some(item) = self.offered_alias(name, scope, cx)?
            {
                return Ok(item);
            }
        }
        match parts {
            // Without any table, not even one around, it is the table that is unknown.
            [.., table, _]
                if cx.clause == Clause::TableFunction
                    || cx.scope.from.relations.is_empty() && cx.scope.parent.is_none() =>
            {
                let message = format!("Unknown table '{table}' in {}", cx.clause.name());
                Err(SqlError::new(ErrorCode::UnknownTable, message))
            }
            _ => Err(self.no_such_column(parts, cx.scope.from, ColumnUse::Select, cx.clause.name())),
        }
    }

    /// The item that is called so in the select list of a query around. Error 1247 for an item that holds an aggregate
    /// function, or that stands behind the place of the subquery.
    fn offered_alias(&mut self, name: &str, scope: &Scope, cx: &ExprContext) -> Result<Option<Item>> {
        let illegal = |why: &str| {
            let message = format!("Reference '{name}' not supported ({why})");
            Err(SqlError::new(ErrorCode::IllegalReference, message))
        };
        let selected = scope.offered.selected;
        let Some(i) = find_alias(name, selected, cx.clause)? else {
            let is_it = |item: &ast::SelectItem| match item {
                ast::SelectItem::ExprWithAlias { alias, .. } => alias.value.eq_ignore_ascii_case(name),
                _ => false,
            };
            return match scope.offered.unbound.iter().any(is_it) {
                true => illegal("forward reference in item list"),
                false => Ok(None),
            };
        };
        let item = &selected[i].item;
        let is_aggregate = |id: &ColId| {
            scope.offered.aggregates.is_some_and(|all| all.borrow().calls.iter().any(|(call, _)| call == id))
        };
        if item.expr.columns().iter().any(is_aggregate) {
            return illegal("reference to group function");
        }
        match selected[i].ast {
            Some(ast) if item.expr.has_subquery() => {
                let names = cx.names.inside(scope.parent);
                self.expression(ast, scope, &names, Clause::FieldList).map(Some)
            }
            _ => Ok(Some(as_operand(item.clone()))),
        }
    }

    /// The select item that is called so. One with a subquery is bound anew, for the columns of a subquery may be in a
    /// statement only once.
    fn alias(&mut self, name: &str, cx: &mut ExprContext) -> Result<Option<Item>> {
        let selected = cx.selected;
        let Some(i) = find_alias(name, selected, cx.clause)? else { return Ok(None) };
        match selected[i].ast {
            Some(ast) if selected[i].item.expr.has_subquery() => {
                let (clause, aliases) = (cx.clause, std::mem::take(&mut cx.selected));
                cx.clause = Clause::FieldList;
                let item = self.expr(ast, cx);
                (cx.clause, cx.selected) = (clause, aliases);
                item.map(Some)
            }
            _ => Ok(Some(as_operand(selected[i].item.clone()))),
        }
    }
}
