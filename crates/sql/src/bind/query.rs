//! WITH, UNION and its kin, VALUES; ORDER BY and LIMIT around them.

use super::{
    binder::{Binder, BoundQuery, Output},
    order::{self, Limits},
    scope::{Clause, Cte, FromClause, Names, Relation, Scope},
};
use crate::{
    Locking,
    statement::{locking_of, tables_of},
    typing::{Item, bytes_of_length, fold, result},
};
use muster_algebra::{ColId, Expr, Rel, ScalarFunction, SortKey};
use muster_types::{
    BytesKind, ErrorCode, Result, SqlError, SqlType, Value,
    charset::valid_up_to,
    store::{StoreFault, text::printable},
};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};
use std::rc::Rc;

/// Returns true for a query of one `SELECT`, which may stand in parentheses. A set operation has no columns of tables
/// to mention.
pub(super) fn is_single_block(query: &ast::Query) -> bool {
    match &*query.body {
        ast::SetExpr::Select(_) => true,
        ast::SetExpr::Query(inner) => is_single_block(inner),
        _ => false,
    }
}

/// Error 3569 for a table that several locking clauses of a query name.
pub(super) fn check_clauses(query: &ast::Query) -> Result<()> {
    let clauses = locking_of(query);
    for (_, shown) in tables_of(query).into_iter().filter(|_| clauses.len() > 1) {
        if clauses.iter().filter(|clause| clause.names(&shown)).count() > 1 {
            let is_named = clauses.iter().any(|clause| clause.table.is_some());
            let table = if is_named { format!("`{shown}`") } else { shown };
            let message = format!("Table {table} appears in multiple locking clauses.");
            return Err(SqlError::new(ErrorCode::DuplicateTableLock, message));
        }
    }
    Ok(())
}

/// Returns true if the first SELECT of a query says SQL_CALC_FOUND_ROWS.
pub(super) fn counts_rows(query: &ast::Query) -> bool {
    fn first(body: &SetExpr) -> Option<&ast::Select> {
        match body {
            SetExpr::Select(select) => Some(select),
            SetExpr::Query(query) => first(&query.body),
            SetExpr::SetOperation { left, .. } => first(left),
            _ => None,
        }
    }
    first(&query.body).is_some_and(says_to_count)
}

/// Returns true for `SELECT SQL_CALC_FOUND_ROWS`.
pub(super) fn says_to_count(select: &ast::Select) -> bool {
    select.select_modifiers.as_ref().is_some_and(|modifiers| modifiers.sql_calc_found_rows)
}

impl Binder<'_> {
    /// A whole query. `ordered`: whether the order of its rows matters to who uses it.
    pub fn query(&mut self, query: &ast::Query, names: &Names, ordered: bool) -> Result<BoundQuery> {
        let mut names = names.clone();
        if let Some(with) = &query.with {
            add_ctes(with, &mut names)?;
        }
        if query.fetch.is_some()
            || query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
        {
            return Err(SqlError::unsupported("FETCH"));
        }
        if !query.locks.is_empty() {
            self.lock_rows(query, &names)?;
        }
        let mut limits = order::limits(self, query.limit_clause.as_ref())?;
        let is_counted = std::mem::take(&mut self.counts_rows);
        if is_counted && !limits.is_set() && matches!(&*query.body, SetExpr::Query(_)) {
            // The cut is that of the query in parentheses.
            self.counts_rows = true;
        } else if is_counted && self.env.session.count_all_rows(limits.offset, limits.count) {
            limits = Limits::default();
        }
        let keys = order_exprs(query)?;
        match &*query.body {
            SetExpr::Select(select) => self.select(select, &names, keys, limits, ordered),
            body => {
                let bound = self.set_expression(body, &names, ordered && keys.is_empty())?;
                self.order_outputs(bound, keys, limits, &names, ordered)
            }
        }
    }

    /// Tells the session what the locking clauses of a query within another one lock. Error 3568 for a name that the
    /// query does not have.
    fn lock_rows(&self, query: &ast::Query, names: &Names) -> Result<()> {
        self.check_locking(query, names)?;
        check_clauses(query)?;
        let tables = tables_of(query);
        for clause in locking_of(query) {
            let mut locked = tables.iter().filter(|(_, shown)| clause.names(shown)).peekable();
            if let (Some(name), None) = (&clause.table, locked.peek()) {
                let message = format!("Unresolved table name `{name}` in locking clause.");
                return Err(SqlError::new(ErrorCode::UnresolvedTableLock, message));
            }
            for (_, shown) in locked {
                self.env.session.lock_rows_of(Locking { table: Some(shown.clone()), inner: true, ..clause.clone() });
            }
        }
        Ok(())
    }

    /// Error 1142 or 3550 for a subquery that locks rows which it may not lock.
    fn check_locking(&self, query: &ast::Query, names: &Names) -> Result<()> {
        let clauses = locking_of(query);
        for (table, shown) in tables_of(query) {
            let database = table.database.as_deref().or(names.database);
            for clause in clauses.iter().filter(|clause| clause.names(&shown)) {
                database.map_or(Ok(()), |database| {
                    self.env.catalog.check_locking(database, &table.name, clause.exclusive)
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn set_expression(&mut self, body: &SetExpr, names: &Names, ordered: bool) -> Result<BoundQuery> {
        match body {
            SetExpr::Select(select) => self.select(select, names, &[], Limits::default(), ordered),
            SetExpr::Query(query) => self.query(query, names, ordered),
            SetExpr::Values(values) => self.values(values, names),
            SetExpr::SetOperation { .. } => self.set_operation(body, names),
            SetExpr::Table(_) => Err(SqlError::unsupported("TABLE statement")),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(SqlError::unsupported("data changes in a query"))
            }
        }
    }

    /// `a UNION b EXCEPT c ..`, left to right.
    fn set_operation(&mut self, body: &SetExpr, names: &Names) -> Result<BoundQuery> {
        let mut operations = Vec::new();
        let mut first = body;
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            operations.push((*op, *set_quantifier, &**right));
            first = left;
        }
        let mut inputs = vec![self.set_expression(first, names, false)?];
        // UNION makes all rows up to its right side distinct.
        let mut distinct = 0;
        for (op, quantifier, right) in operations.into_iter().rev() {
            let right = self.set_expression(right, names, false)?;
            if right.outputs.len() != inputs[0].outputs.len() {
                return Err(SqlError::different_column_counts());
            }
            let all = match quantifier {
                SetQuantifier::All => true,
                SetQuantifier::None | SetQuantifier::Distinct => false,
                _ => return Err(SqlError::unsupported("UNION BY NAME")),
            };
            if op == SetOperator::Union {
                inputs.push(right);
                if !all {
                    distinct = inputs.len();
                }
                continue;
            }
            let left = self.union(std::mem::take(&mut inputs), distinct)?;
            inputs = vec![self.semi_operation(op, all, left, right)?];
            distinct = 0;
        }
        self.union(inputs, distinct)
    }

    /// All rows of the inputs, those of the first `distinct` inputs made distinct.
    pub(super) fn union(&mut self, mut inputs: Vec<BoundQuery>, distinct: usize) -> Result<BoundQuery> {
        if inputs.len() == 1 && distinct == 0 {
            return Ok(inputs.remove(0));
        }
        let types = self.common_types(&inputs, result::UNION)?;
        let decimals = self.common_decimals(&inputs, &types);
        let given: Vec<Vec<ColId>> =
            inputs.iter().map(|q| q.outputs.iter().map(|output| output.id).collect()).collect();
        let mut names: Vec<Output> = inputs[0].outputs.clone();
        for (i, name) in names.iter_mut().enumerate() {
            name.is_ascii = inputs.iter().all(|input| input.outputs[i].is_ascii);
        }
        for input in &mut inputs {
            self.cut_bytes(input, &types, &names);
        }
        let rest = inputs.split_off(distinct);
        let mut groups = Vec::new();
        if !inputs.is_empty() {
            let (rel, columns) = self.union_all(inputs, &types, &names);
            let rel = Rel::Aggregate { input: Box::new(rel), group: columns.clone(), aggregates: Vec::new() };
            groups.push((rel, columns));
        }
        for input in rest {
            groups.push(self.converted(input, &types));
        }
        let (rel, columns) = match groups.len() {
            1 => groups.remove(0),
            _ => self.union_of(groups, &types, &names),
        };
        for (i, (id, decimals)) in columns.iter().zip(decimals).enumerate() {
            self.columns.set_decimals(*id, decimals);
            let inputs: Vec<ColId> = given.iter().map(|ids| ids[i]).collect();
            self.set_stored(*id, &names[i].name, &inputs);
        }
        let outputs = columns.into_iter().zip(names).map(|(id, o)| Output { id, ..o }).collect();
        Ok(BoundQuery { rel, outputs })
    }

    /// Cuts constant byte strings where they are no text any more, if their column is one, with warning 1366: the
    /// temporary table of a union stores them.
    fn cut_bytes(&mut self, query: &mut BoundQuery, types: &[SqlType], names: &[Output]) {
        for ((output, ty), name) in query.outputs.iter().zip(types).zip(names) {
            let SqlType::Text { collation, .. } = *ty else { continue };
            let Some(expr) = made_by(&mut query.rel, output.id) else { continue };
            let Some(Value::Bytes(mut bytes)) = fold::constant(expr) else { continue };
            let valid = valid_up_to(collation.character_set(), &bytes);
            if valid == bytes.len() {
                continue;
            }
            let shown = printable(&bytes[valid..]);
            let message = StoreFault::Incorrect("string").message(&name.name, &shown, 1);
            bytes.truncate(valid);
            *expr = Expr::literal(Value::Bytes(bytes), self.columns.ty(output.id));
            self.warn(ErrorCode::TruncatedWrongValueForField, message);
        }
    }

    /// Digits behind the point that the floating-point columns of a union show.
    fn common_decimals(&self, inputs: &[BoundQuery], types: &[SqlType]) -> Vec<Option<u8>> {
        let decimals = |(i, ty): (usize, &SqlType)| {
            let items: Vec<Item> = inputs.iter().map(|q| self.column_item(q.outputs[i].id)).collect();
            let is_float = matches!(ty, SqlType::Float | SqlType::Double);
            result::decimals(&items.iter().collect::<Vec<_>>()).filter(|_| is_float)
        };
        types.iter().enumerate().map(decimals).collect()
    }

    fn union_all(&mut self, inputs: Vec<BoundQuery>, types: &[SqlType], names: &[Output]) -> (Rel, Vec<ColId>) {
        let inputs = inputs.into_iter().map(|i| self.converted(i, types)).collect();
        self.union_of(inputs, types, names)
    }

    fn union_of(&mut self, inputs: Vec<(Rel, Vec<ColId>)>, types: &[SqlType], names: &[Output]) -> (Rel, Vec<ColId>) {
        let mut columns = Vec::with_capacity(types.len());
        for (i, ty) in types.iter().enumerate() {
            let nullable = inputs.iter().any(|(_, ids)| self.nullable(&Expr::Column(ids[i])));
            columns.push(self.columns.add_computed(names[i].name.clone(), *ty, nullable));
        }
        (Rel::Union { inputs, columns: columns.clone() }, columns)
    }

    /// The type of an ENUM or SET beside nothing but NULL, which stays what it is.
    fn members_beside_null(&self, inputs: &[BoundQuery], column: usize) -> Option<SqlType> {
        let types = inputs.iter().map(|q| self.columns.ty(q.outputs[column].id));
        let (nulls, known): (Vec<SqlType>, Vec<SqlType>) = types.partition(|ty| *ty == SqlType::Null);
        let first = *known.first().filter(|ty| matches!(ty, SqlType::Enum(_) | SqlType::Set(_)))?;
        (!nulls.is_empty() && known.len() == 1).then_some(first)
    }

    /// One type per column for all inputs.
    pub(super) fn common_types(&mut self, inputs: &[BoundQuery], operation: &str) -> Result<Vec<SqlType>> {
        (0..inputs[0].outputs.len())
            .map(|i| {
                if let Some(members) = self.members_beside_null(inputs, i) {
                    return Ok(members);
                }
                let item = |q: &BoundQuery| {
                    let output = &q.outputs[i];
                    let item = self.output_item(output);
                    // A byte string that CAST makes has a variable length.
                    let is_column = self.columns.get(output.id).origin.is_some();
                    let ty = match item.ty {
                        SqlType::Bytes { kind: BytesKind::Binary, length } if !is_column => {
                            bytes_of_length(length.into())
                        }
                        ty => ty,
                    };
                    let item = Item { ty, ..item };
                    match literal_of(&q.rel, output.id) {
                        Some(literal) => Item { expr: literal.clone(), ..item },
                        None => item,
                    }
                };
                let items: Vec<Item> = inputs.iter().map(item).collect();
                if let Some(ty) = self.common_declared(&items) {
                    return Ok(ty);
                }
                let items = self.members_beside_char(&items);
                result::result_type(&items.iter().collect::<Vec<_>>(), self.default_collation(), operation)
            })
            .collect()
    }

    /// The type of columns that are all BIT, or all YEAR, or NULL.
    fn common_declared(&self, items: &[Item]) -> Option<SqlType> {
        let declared = items.iter().filter(|item| item.ty != SqlType::Null).map(|item| self.declared_type(item));
        let declared: Vec<SqlType> = declared.collect::<Option<_>>()?;
        let wider = |a: SqlType, b: SqlType| match (a, b) {
            (SqlType::Bit { width: a }, SqlType::Bit { width: b }) => Some(SqlType::Bit { width: a.max(b) }),
            (SqlType::Year, SqlType::Year) => Some(SqlType::Year),
            _ => None,
        };
        let first = *declared.first().filter(|ty| matches!(ty, SqlType::Bit { .. } | SqlType::Year))?;
        declared.into_iter().try_fold(first, wider)
    }

    /// The query with its columns cast where their types differ.
    pub(super) fn converted(&mut self, query: BoundQuery, types: &[SqlType]) -> (Rel, Vec<ColId>) {
        let ids: Vec<ColId> = query.outputs.iter().map(|o| o.id).collect();
        if ids.iter().zip(types).all(|(id, ty)| self.columns.ty(*id) == *ty) {
            return (query.rel, ids);
        }
        let mut exprs = Vec::with_capacity(ids.len());
        for (output, ty) in query.outputs.iter().zip(types) {
            let item = self.column_item(output.id);
            if self.columns.ty(output.id) == *ty {
                exprs.push((output.id, Expr::Column(output.id)));
            } else {
                let expr = self.stored_beside_others(item, *ty).expr;
                exprs.push((self.new_column(&output.name, &expr, *ty), expr));
            }
        }
        let ids = exprs.iter().map(|(id, _)| *id).collect();
        (Rel::Project { input: Box::new(query.rel), exprs }, ids)
    }

    /// The value in a column of a temporary table that has another type: a number is stored as such, whatever its own
    /// column shows of it, a floating-point one with the digits that there is room for.
    fn stored_beside_others(&mut self, item: Item, ty: SqlType) -> Item {
        if !ty.is_text() && !ty.is_bytes() {
            return self.convert(item, ty);
        }
        let item = match self.declared_type(&item) {
            Some(SqlType::Bit { .. } | SqlType::Year | SqlType::Unsigned(_)) => self.no_operand(item),
            _ => item,
        };
        match item.ty {
            SqlType::Float | SqlType::Double => {
                let fitted = match ty {
                    SqlType::Bytes { length, .. } => bytes_of_length(length.into()),
                    text => text,
                };
                let (function, args) = (ScalarFunction::FittedDouble, vec![item.expr]);
                self.convert(Item::new(Expr::Call { function, args, ty: fitted }, fitted), ty)
            }
            _ => self.convert(item, ty),
        }
    }

    /// `VALUES ROW(..), ROW(..)`; columns are called `column_0` and so on.
    fn values(&mut self, values: &ast::Values, names: &Names) -> Result<BoundQuery> {
        let width = values.rows.first().map_or(0, |r| r.content.len());
        if width == 0 {
            let message = "Each row of a VALUES clause must have at least one column, unless when used as source in an \
                           INSERT statement.";
            return Err(SqlError::new(ErrorCode::TableValueConstructorWithoutColumns, message));
        }
        let mut rows = Vec::with_capacity(values.rows.len());
        let from = FromClause::default();
        let scope = Scope::within(&from, names.outer);
        for (i, row) in values.rows.iter().enumerate() {
            if row.content.len() != width {
                return Err(SqlError::wrong_value_count(i + 1));
            }
            let items: Result<Vec<Item>> =
                row.content.iter().map(|e| self.expression(e, &scope, names, Clause::FieldList)).collect();
            rows.push(items?);
        }
        let mut outputs = Vec::with_capacity(width);
        for c in 0..width {
            let items: Vec<&Item> = rows.iter().map(|r| &r[c]).collect();
            let ty = result::result_type(&items, self.default_collation(), "VALUES")?;
            let nullable = items.iter().any(|i| self.nullable(&i.expr));
            let name = format!("column_{c}");
            let id = self.columns.add_computed(name.clone(), ty, nullable);
            outputs.push(Output {
                is_ascii: items.iter().all(|item| item.is_ascii),
                ..Output::new(id, name, &self.column_item(id))
            });
        }
        let mut exprs = Vec::with_capacity(rows.len());
        for row in rows {
            let types = outputs.iter().map(|o| self.columns.ty(o.id)).collect::<Vec<_>>();
            exprs.push(row.into_iter().zip(types).map(|(item, ty)| self.convert(item, ty).expr).collect());
        }
        Ok(BoundQuery { rel: Rel::Values { columns: outputs.iter().map(|o| o.id).collect(), rows: exprs }, outputs })
    }

    /// ORDER BY and LIMIT over a union or a query in parentheses: only its output columns have names.
    fn order_outputs(
        &mut self,
        mut bound: BoundQuery,
        keys: &[ast::OrderByExpr],
        limits: Limits,
        names: &Names,
        ordered: bool,
    ) -> Result<BoundQuery> {
        let columns = bound.outputs.iter().map(|o| (o.name.clone(), o.id)).collect();
        let from = FromClause::single(Relation::derived(""), columns);
        let scope = Scope::within(&from, names.outer);
        let mut sort = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let expr = match order::position(&key.expr, bound.outputs.len(), Clause::OrderBy)? {
                Some(i) => Expr::Column(bound.outputs[i].id),
                None => {
                    refuse_table(&key.expr)?;
                    let item = self.expression(&key.expr, &scope, names, Clause::OrderBy);
                    let item = item.map_err(|error| refuse_aggregate(error, at))?;
                    self.bare(item).expr
                }
            };
            if !matches!(expr, Expr::Literal { .. }) {
                let descending = order::descending(key)?;
                match expr {
                    Expr::Column(id) => sort.extend(self.sort_keys_of(id, descending)),
                    expr => sort.push(SortKey { expr, descending }),
                }
            }
        }
        if !sort.is_empty() && (ordered || limits.is_set()) {
            bound.rel = Rel::Sort { input: Box::new(bound.rel), keys: sort };
        }
        bound.rel = limits.apply(bound.rel);
        Ok(bound)
    }
}

/// Error 1250 for a column of a table in the ORDER BY of a set operation.
fn refuse_table(key: &ast::Expr) -> Result<()> {
    let ast::Expr::CompoundIdentifier(parts) = key else { return Ok(()) };
    let Some(table) = parts.len().checked_sub(2).and_then(|at| parts.get(at)) else { return Ok(()) };
    let message = format!("Table '{}' from one of the SELECTs cannot be used in global ORDER clause", table.value);
    Err(SqlError::new(ErrorCode::TableNameNotAllowedHere, message))
}

/// Adds the tables of a WITH clause to the names.
pub(super) fn add_ctes<'p>(with: &'p ast::With, names: &mut Names<'p>) -> Result<()> {
    for cte in &with.cte_tables {
        if with.cte_tables.iter().filter(|c| c.alias.name == cte.alias.name).count() > 1 {
            return Err(SqlError::table_not_unique(&cte.alias.name.value));
        }
        names.ctes = Some(Rc::new(Cte {
            ast: cte,
            is_recursive: with.recursive,
            before: names.ctes.take(),
            outer: names.outer,
        }));
    }
    Ok(())
}

/// Error 3028 instead of that of an aggregate or window function in the sort key at position `at` of a union.
fn refuse_aggregate(error: SqlError, at: usize) -> SqlError {
    match error.code {
        ErrorCode::InvalidGroupFuncUse | ErrorCode::WindowInvalidFunctionUse => {
            let message = format!(
                "Expression #{} of ORDER BY contains aggregate function and applies to a UNION, EXCEPT or INTERSECT",
                at + 1
            );
            SqlError::new(ErrorCode::AggregateOrderForUnion, message)
        }
        _ => error,
    }
}

fn order_exprs(query: &ast::Query) -> Result<&[ast::OrderByExpr]> {
    match &query.order_by {
        None => Ok(&[]),
        Some(ast::OrderBy { kind: ast::OrderByKind::Expressions(keys), interpolate: None }) => Ok(keys),
        Some(_) => Err(SqlError::unsupported("ORDER BY ALL")),
    }
}

/// The literal that a column of a query's rows is.
fn literal_of(rel: &Rel, id: ColId) -> Option<&Expr> {
    match rel {
        Rel::Project { exprs, .. } => {
            exprs.iter().find(|(column, _)| *column == id).map(|(_, expr)| expr).filter(|expr| is_literal(expr))
        }
        Rel::Sort { input, .. } | Rel::Limit { input, .. } => literal_of(input, id),
        _ => None,
    }
}

/// The expression that makes a column of a query.
fn made_by(rel: &mut Rel, id: ColId) -> Option<&mut Expr> {
    match rel {
        Rel::Project { exprs, .. } => exprs.iter_mut().find(|(column, _)| *column == id).map(|(_, expr)| expr),
        Rel::Sort { input, .. } | Rel::Limit { input, .. } => made_by(input, id),
        _ => None,
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { .. })
}
