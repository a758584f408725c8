//! Functions with OVER: collected here, computed by Window nodes, a column for the expression around.

use super::{
    ExprContext,
    aggregate::{AGGREGATE_LENGTH, is_aggregate},
    literal,
};
use crate::{
    bind::{
        Parameters,
        binder::{Aggregates, Binder},
        order,
        scope::{Clause, Names, Scope},
        window::{BoundWindow, UNNAMED},
    },
    typing::{Item, result},
};
use muster_algebra::{
    AggregateFunction, ColId, Expr, Frame, ResultShape, SortKey, WindowCall, WindowDefinition, WindowFunction,
};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};
use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArguments, NullTreatment, WindowType,
};
use std::cell::RefCell;

/// A window with everything that it inherits.
pub(super) struct Definition {
    /// The window's name in error messages.
    pub name: String,
    partition: Vec<ast::Expr>,
    order: Vec<ast::OrderByExpr>,
    pub frame: Option<ast::WindowFrame>,
}

/// A number of rows that stands as a parameter or a user variable.
pub(super) enum RowCount {
    Rows(u64),
    Null,
    Negative,
}

/// A bound window function and the type that its result shows.
struct BoundFunction {
    function: WindowFunction,
    ty: SqlType,
    shown: SqlType,
    decimals: Option<u8>,
}

/// Returns true for a function that needs OVER.
pub(super) fn is_window_function(name: &str) -> bool {
    matches!(
        name,
        "ROW_NUMBER"
            | "RANK"
            | "DENSE_RANK"
            | "PERCENT_RANK"
            | "CUME_DIST"
            | "NTILE"
            | "LAG"
            | "LEAD"
            | "FIRST_VALUE"
            | "LAST_VALUE"
            | "NTH_VALUE"
    )
}

impl Binder<'_> {
    /// A call with OVER. `name`: in capitals. Errors: 3593 where no window function may stand, those of its window.
    pub(super) fn window_call(
        &mut self,
        name: &str,
        function: &ast::Function,
        over: &WindowType,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let shown_name = name.to_ascii_lowercase();
        let takes_over = is_window_function(name) || is_aggregate(name) && name != "ANY_VALUE";
        if !takes_over {
            return Err(SqlError::syntax("OVER", 1));
        }
        if matches!(cx.clause, Clause::WindowPartitionBy | Clause::WindowOrderBy) {
            let message = format!("You cannot nest a window function in the specification of window '{UNNAMED}'.");
            return Err(SqlError::new(ErrorCode::WindowNestedInSpecification, message));
        }
        let may_stand = matches!(cx.clause, Clause::FieldList | Clause::OrderBy);
        if !may_stand || cx.in_aggregate || cx.in_window || cx.aggregates.is_none() {
            let message = format!("You cannot use the window function '{shown_name}' in this context.'");
            return Err(SqlError::new(ErrorCode::WindowInvalidFunctionUse, message));
        }
        if function.null_treatment == Some(NullTreatment::IgnoreNulls) {
            return Err(SqlError::unsupported("IGNORE NULLS"));
        }
        let definition = self.window_definition(over, cx)?;
        cx.in_window = true;
        let bound = self.bound_window(name, function, definition, cx);
        cx.in_window = false;
        let (bound, BoundFunction { function: called, ty: _, shown, decimals }) = bound?;
        let place = cx.aggregates.ok_or_else(|| SqlError::internal("no place for windows"))?;
        let same = |known: &BoundWindow| {
            (&known.partition, &known.order, &known.call) == (&bound.partition, &bound.order, &bound.call)
        };
        let known = place.borrow().windows.calls.iter().find(|(_, known)| same(known)).map(|(id, _)| *id);
        let id = match known {
            Some(id) => id,
            None => {
                let id = self.window_column(function.to_string(), &called, bound.call.ty, decimals);
                if matches!(called, WindowFunction::Shifted { default: Some(_), .. })
                    && let [value, _, default] = super::plain_args(function)?[..]
                {
                    let nullable = Some(self.is_written_nullable(value) || self.is_written_nullable(default));
                    let shape = self.columns.shape(id);
                    self.columns.set_shape(id, ResultShape { nullable, ..shape });
                }
                place.borrow_mut().windows.calls.push((id, bound));
                id
            }
        };
        Ok(self.aggregate_item(id, shown))
    }

    /// Binds what the WINDOW clause defines and nobody uses, for its errors.
    pub(in crate::bind) fn check_unused_windows(
        &mut self,
        scope: &Scope,
        names: &Names,
        aggregates: &RefCell<Aggregates>,
    ) -> Result<()> {
        let unused = aggregates.borrow().windows.unused();
        let cx = ExprContext::new(scope, names, Clause::FieldList);
        let cx = &mut ExprContext { aggregates: Some(aggregates), in_window: true, ..cx };
        for name in unused {
            let definition = self.window_definition(&WindowType::NamedWindow(ast::Ident::new(name)), cx)?;
            self.partition(&definition, cx)?;
            let order = self.window_order(&definition, cx)?;
            self.frame(&definition, &order, cx)?;
        }
        Ok(())
    }

    fn bound_window(
        &mut self,
        name: &str,
        function: &ast::Function,
        definition: Definition,
        cx: &mut ExprContext,
    ) -> Result<(BoundWindow, BoundFunction)> {
        let partition = self.partition(&definition, cx)?;
        let order = self.window_order(&definition, cx)?;
        let frame = self.frame(&definition, &order, cx)?;
        let bound = match is_aggregate(name) {
            true => self.windowed_aggregate(name, function, cx)?,
            false => self.window_function(name, function, cx)?,
        };
        let order: Vec<SortKey> =
            order.into_iter().map(|(item, descending)| SortKey { expr: self.bare(item).expr, descending }).collect();
        // A function that does not look at its frame is the same whatever frame is written.
        let frame = if bound.function.uses_frame() { frame } else { Frame::whole() };
        let name = (definition.name != UNNAMED).then(|| definition.name.clone());
        let over = WindowDefinition { name, ..WindowDefinition::default() };
        let call = WindowCall { function: bound.function.clone(), frame, ty: bound.ty, over };
        Ok((BoundWindow { name: definition.name, partition, order, call }, bound))
    }

    /// A column for the results of a window function.
    fn window_column(&mut self, name: String, function: &WindowFunction, ty: SqlType, decimals: Option<u8>) -> ColId {
        use WindowFunction::*;
        let id = match function {
            Aggregate(call) => self.aggregate_column(name, call, decimals),
            _ => {
                let nullable =
                    !matches!(function, RowNumber | Rank | DenseRank | PercentRank | CumeDist | Ntile { .. });
                let id = self.columns.add_computed(name, ty, nullable);
                self.columns.set_decimals(id, decimals);
                id
            }
        };
        match function {
            RowNumber | Rank | DenseRank | Ntile { .. } => self.columns.set_length(id, Some(AGGREGATE_LENGTH)),
            _ => {}
        }
        let sources = match function {
            FirstValue(value) | LastValue(value) | NthValue { value, .. } => vec![value],
            Shifted { value, default, .. } => std::iter::once(value).chain(default).collect(),
            Aggregate(call) if matches!(call.function, AggregateFunction::Min | AggregateFunction::Max) => {
                call.args.first().into_iter().collect()
            }
            _ => Vec::new(),
        };
        self.set_windowed(id, &sources);
        id
    }

    /// Puts together what a window inherits. Errors 3579, 3581, 3582, 3583.
    fn window_definition(&self, over: &WindowType, cx: &ExprContext) -> Result<Definition> {
        let place = cx.aggregates.ok_or_else(|| SqlError::internal("no place for windows"))?.borrow();
        let named = |name: &str| place.windows.named(name);
        let (name, mut at) = match over {
            WindowType::NamedWindow(name) => {
                let window = named(&name.value)?;
                (window.name.clone(), &window.spec)
            }
            WindowType::WindowSpec(spec) => (UNNAMED.to_string(), spec),
        };
        let mut found = Definition {
            name,
            partition: at.partition_by.clone(),
            order: at.order_by.clone(),
            frame: at.window_frame.clone(),
        };
        while let Some(parent) = &at.window_name {
            let parent = named(&parent.value)?;
            if !at.partition_by.is_empty() {
                let message = "A window which depends on another cannot define partitioning.";
                return Err(SqlError::new(ErrorCode::WindowNoChildPartitioning, message));
            }
            if parent.spec.window_frame.is_some() {
                let message = format!(
                    "Window '{}' has a frame definition, so cannot be referenced by another window.",
                    parent.name
                );
                return Err(SqlError::new(ErrorCode::WindowNoInheritFrame, message));
            }
            if !found.order.is_empty() && !parent.spec.order_by.is_empty() {
                let message = format!(
                    "Window '{}' cannot inherit '{}' since both contain an ORDER BY clause.",
                    found.name, parent.name
                );
                return Err(SqlError::new(ErrorCode::WindowNoRedefineOrderBy, message));
            }
            if found.order.is_empty() {
                found.order = parent.spec.order_by.clone();
            }
            found.partition = parent.spec.partition_by.clone();
            at = &parent.spec;
        }
        Ok(found)
    }

    /// An expression that a window is defined by. Error 3592 for a number.
    fn window_key(&mut self, expr: &ast::Expr, name: &str, clause: Clause, cx: &mut ExprContext) -> Result<Item> {
        if matches!(expr, ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Number(..), .. })) {
            let message = format!(
                "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use \
                 expression."
            );
            return Err(SqlError::new(ErrorCode::WindowIllegalOrderBy, message));
        }
        let around = (cx.clause, std::mem::take(&mut cx.selected));
        cx.clause = clause;
        let item = self.expr(expr, cx);
        (cx.clause, cx.selected) = around;
        item
    }

    fn partition(&mut self, definition: &Definition, cx: &mut ExprContext) -> Result<Vec<Expr>> {
        let mut partition = Vec::with_capacity(definition.partition.len());
        for expr in &definition.partition {
            let item = self.window_key(expr, &definition.name, Clause::WindowPartitionBy, cx)?;
            let expr = self.bare(item).expr;
            if !partition.contains(&expr) {
                partition.push(expr);
            }
        }
        Ok(partition)
    }

    fn window_order(&mut self, definition: &Definition, cx: &mut ExprContext) -> Result<Vec<(Item, bool)>> {
        let mut keys = Vec::with_capacity(definition.order.len());
        for key in &definition.order {
            let descending = order::descending(key)?;
            keys.push((self.window_key(&key.expr, &definition.name, Clause::WindowOrderBy, cx)?, descending));
        }
        Ok(keys)
    }

    /// An aggregate with OVER. Errors 1235 for DISTINCT and GROUP_CONCAT, as in MySQL.
    fn windowed_aggregate(
        &mut self,
        name: &str,
        function: &ast::Function,
        cx: &mut ExprContext,
    ) -> Result<BoundFunction> {
        if name == "GROUP_CONCAT" {
            return Err(SqlError::unsupported(format!("{} as window function", name.to_ascii_lowercase())));
        }
        let FunctionArguments::List(list) = &function.args else { return Err(SqlError::syntax(name, 1)) };
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
            return Err(SqlError::unsupported("<window function>(DISTINCT ..)"));
        }
        let star = matches!(list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        if star && name != "COUNT" {
            return Err(SqlError::syntax("*", 1));
        }
        let (call, shown, decimals, _) = self.aggregate_call(name, list, star, false, cx)?;
        Ok(BoundFunction { ty: call.ty, function: WindowFunction::Aggregate(call), shown, decimals })
    }

    /// A function that needs OVER. Errors: 1064 for other arguments than it has, 1210 for numbers that it does not
    /// take.
    fn window_function(&mut self, name: &str, function: &ast::Function, cx: &mut ExprContext) -> Result<BoundFunction> {
        let args = super::plain_args(function)?;
        let plain = |function, ty| Ok(BoundFunction { function, ty, shown: ty, decimals: None });
        let unsigned = SqlType::BIGINT_UNSIGNED;
        match (name, &args[..]) {
            ("ROW_NUMBER", []) => plain(WindowFunction::RowNumber, unsigned),
            ("RANK", []) => plain(WindowFunction::Rank, unsigned),
            ("DENSE_RANK", []) => plain(WindowFunction::DenseRank, unsigned),
            ("PERCENT_RANK", []) => plain(WindowFunction::PercentRank, SqlType::Double),
            ("CUME_DIST", []) => plain(WindowFunction::CumeDist, SqlType::Double),
            ("NTILE", [buckets]) => {
                let buckets = self.row_number(buckets, "ntile", 1)?;
                plain(WindowFunction::Ntile { buckets }, unsigned)
            }
            ("FIRST_VALUE", [value]) => self.value_function(value, cx, WindowFunction::FirstValue),
            ("LAST_VALUE", [value]) => self.value_function(value, cx, WindowFunction::LastValue),
            ("NTH_VALUE", [value, number]) => {
                let number = self.row_number(number, "nth_value", 1)?;
                self.value_function(value, cx, |value| WindowFunction::NthValue { value, number })
            }
            ("LAG" | "LEAD", [value, rest @ ..]) if rest.len() < 3 => self.shifted(name, value, rest, cx),
            _ => Err(SqlError::syntax(")", 1)),
        }
    }

    /// The number of rows that is an argument: digits, a parameter or a user variable. Errors: 1210 for one that is
    /// less than `least` or no integer, 1064 for an expression. As in MySQL, NTH_VALUE(.., ?) of NULL is NULL.
    fn row_number(&mut self, expr: &ast::Expr, name: &str, least: u64) -> Result<u64> {
        let wrong = || SqlError::wrong_arguments(name);
        let number = match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(digits, _) => match digits.bytes().all(|b| b.is_ascii_digit()) {
                    true => digits.parse::<i64>().map_err(|_| wrong())? as u64,
                    false => return Err(SqlError::syntax(digits, 1)),
                },
                ast::Value::Placeholder(_) => match self.row_count(expr)? {
                    RowCount::Rows(number) => number,
                    RowCount::Null if name == "nth_value" => u64::MAX,
                    RowCount::Null | RowCount::Negative => return Err(wrong()),
                },
                ast::Value::Null if name == "nth_value" => return Err(wrong()),
                other => return Err(SqlError::syntax(other, 1)),
            },
            ast::Expr::Identifier(variable) if variable.value.starts_with('@') => {
                self.uses_variables = true;
                let name = variable.value.trim_start_matches('@').to_lowercase();
                match self.env.session.user_variable(&name) {
                    Value::Int(number) => u64::try_from(number).map_err(|_| wrong())?,
                    Value::Bool(value) => u64::from(value),
                    _ => return Err(wrong()),
                }
            }
            other => return Err(SqlError::syntax(other, 1)),
        };
        if number >= least { Ok(number) } else { Err(wrong()) }
    }

    /// The number of rows that is a parameter; any while its value is not known. Error 1210 for no integer.
    pub(super) fn row_count(&self, parameter: &ast::Expr) -> Result<RowCount> {
        let ast::Expr::Value(placeholder) = parameter else { return Err(SqlError::internal("not a parameter")) };
        if matches!(self.env.parameters, Parameters::Unknown) {
            return Ok(RowCount::Rows(1));
        }
        Ok(match literal::parameter(self, &placeholder.value)? {
            Value::Null => RowCount::Null,
            Value::Int(rows) => u64::try_from(rows).map_or(RowCount::Negative, RowCount::Rows),
            Value::Bool(rows) => RowCount::Rows(u64::from(rows)),
            Value::UInt(rows) => RowCount::Rows(rows),
            _ => return Err(SqlError::wrong_arguments("EXECUTE")),
        })
    }

    /// A function that gives the value of another row.
    fn value_function(
        &mut self,
        value: &ast::Expr,
        cx: &mut ExprContext,
        function: impl FnOnce(Expr) -> WindowFunction,
    ) -> Result<BoundFunction> {
        let item = self.expr(value, cx)?;
        let (shown, decimals, ty) = (item.ty, item.shown_decimals(), self.type_of(&item.expr));
        let ty = if ty == item.ty { ty } else { item.ty };
        Ok(BoundFunction { function: function(item.expr), ty, shown, decimals })
    }

    /// LAG and LEAD.
    fn shifted(
        &mut self,
        name: &str,
        value: &ast::Expr,
        rest: &[&ast::Expr],
        cx: &mut ExprContext,
    ) -> Result<BoundFunction> {
        let lower = name.to_ascii_lowercase();
        let item = self.expr(value, cx)?;
        let offset = rest.first().map_or(Ok(1), |expr| self.row_number(expr, &lower, 0))?;
        let forward = name == "LEAD";
        let Some(default) = rest.get(1) else {
            let (ty, decimals) = (item.ty, item.shown_decimals());
            let function = WindowFunction::Shifted { value: item.expr, offset, forward, default: None };
            return Ok(BoundFunction { function, ty, shown: ty, decimals });
        };
        let default = self.expr(default, cx)?;
        let (item, default) = (self.measured(item), self.measured(default));
        let ty = result::result_type(&[&item, &default], self.default_collation(), &lower)?;
        let decimals = result::decimals(&[&item, &default]);
        let (value, default) = (self.convert(item, ty).expr, self.convert(default, ty).expr);
        let function = WindowFunction::Shifted { value, offset, forward, default: Some(default) };
        Ok(BoundFunction { function, ty, shown: ty, decimals })
    }
}
