//! Aggregate functions: collected here, computed by the Aggregate node, a column for the expression around.

use super::ExprContext;
use crate::{
    bind::{
        binder::{Aggregates, Binder},
        declared::as_operand,
        order,
        scope::Clause,
    },
    typing::{
        Derivation, Item, aggregate,
        arithmetic::{ArithmeticRules, KEPT_DIGITS, more_decimals, quotient_scale, widened},
        collation, length,
    },
};
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Expr, ResultShape, ScalarFunction, SortKey};
use muster_types::{BytesKind, Collation, ErrorCode, Result, SqlError, SqlType, TextKind, Value};
use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
};
use std::cell::RefCell;

/// Longest result of GROUP_CONCAT that is a VARCHAR or a VARBINARY, in characters.
const VARCHAR_MAX: u64 = 512;

/// Longest byte string that BIT_AND and its kin take.
const BIT_BYTES_MAX: u32 = 511;

/// Characters that MySQL declares for a count, and for the bits of an aggregate.
pub(super) const AGGREGATE_LENGTH: u32 = 21;

/// Type of GROUP_CONCAT: a VARCHAR if it is short, else a LONGTEXT; of byte strings VARBINARY or a LONGBLOB.
fn group_concat_type(length: u64, collation: Collation) -> SqlType {
    let is_short = length <= VARCHAR_MAX;
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    match collation {
        Collation::Binary => {
            let kind = if is_short { BytesKind::VarBinary } else { BytesKind::LongBlob };
            SqlType::Bytes { kind, length }
        }
        _ => {
            let kind = if is_short { TextKind::VarChar } else { TextKind::LongText };
            SqlType::Text { kind, length, collation }
        }
    }
}

/// Digits behind the point.
fn scale_of(ty: SqlType) -> u32 {
    ty.decimal_digits().map_or(0, |(_, scale)| scale as u32)
}

pub(crate) fn is_aggregate(name: &str) -> bool {
    matches!(
        name,
        "COUNT"
            | "SUM"
            | "AVG"
            | "MIN"
            | "MAX"
            | "ANY_VALUE"
            | "GROUP_CONCAT"
            | "STD"
            | "STDDEV"
            | "STDDEV_POP"
            | "STDDEV_SAMP"
            | "VARIANCE"
            | "VAR_POP"
            | "VAR_SAMP"
            | "BIT_AND"
            | "BIT_OR"
            | "BIT_XOR"
            | "JSON_ARRAYAGG"
            | "JSON_OBJECTAGG"
    )
}

/// Error 1111.
pub(in crate::bind) fn invalid_use() -> SqlError {
    SqlError::new(ErrorCode::InvalidGroupFuncUse, "Invalid use of group function")
}

/// The query that an aggregate function belongs to, which is where its calls are kept: the innermost one whose columns
/// it mentions. If that one takes no aggregate functions at the place of the call, it is the innermost one that does
/// (MySQL: `Item_sum::check_sum_func`). `None`: it may stand nowhere, or in another function of the query it belongs
/// to.
fn place_of<'x>(call: &AggregateCall, cx: &ExprContext<'x>) -> Option<&'x RefCell<Aggregates>> {
    let order = match &call.function {
        AggregateFunction::GroupConcat { order, .. } => order.as_slice(),
        _ => &[],
    };
    let mentioned = call.args.iter().chain(order.iter().map(|key| &key.expr)).flat_map(Expr::columns);
    let nearest = mentioned.filter_map(|id| cx.scope.distance(id)).min();
    let is_aggregated = |distance| cx.scope.outwards().nth(distance).is_some_and(|scope| scope.offered.is_aggregated);
    if nearest.is_some_and(|distance| distance > 0 && is_aggregated(distance)) {
        return None;
    }
    let around = cx.scope.outwards().skip(1).map(|scope| scope.offered.aggregates);
    let places: Vec<_> = std::iter::once(cx.aggregates).chain(around).collect();
    // A function without columns, and ANY_VALUE, which may give what it is given, belong to where they stand.
    let is_own = nearest.is_none() || call.function == AggregateFunction::AnyValue && cx.aggregates.is_some();
    match nearest.filter(|_| !is_own) {
        Some(distance) => {
            let inside = places.iter().take(distance).find_map(|place| *place);
            places.get(distance).copied().flatten().or(inside)
        }
        None => places.into_iter().flatten().next(),
    }
}

impl Binder<'_> {
    pub fn aggregate(&mut self, name: &str, function: &ast::Function, cx: &mut ExprContext) -> Result<Item> {
        let FunctionArguments::List(list) = &function.args else { return Err(SqlError::syntax(name, 1)) };
        // Within an aggregate, and around one, it is a function of rows (MySQL: `Item_func_any_value`).
        let any_value = match &list.args[..] {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] if name == "ANY_VALUE" => Some(value),
            _ => None,
        };
        if let (Some(value), true) = (any_value, cx.in_aggregate) {
            return self.expr(value, cx);
        }
        if cx.in_aggregate {
            return Err(invalid_use());
        }
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let star = matches!(list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        if star && (name != "COUNT" || distinct) {
            return Err(SqlError::syntax("*", 1));
        }
        cx.in_aggregate = true;
        let call = self.aggregate_call(name, list, star, distinct, cx);
        cx.in_aggregate = false;
        let (call, shown, decimals, derivation) = match (call, any_value) {
            (Err(e), Some(value)) if e.code == invalid_use().code => return self.expr(value, cx),
            (call, _) => call?,
        };
        let is_ascii = call.args.iter().all(|arg| collation::is_ascii_over(arg, &self.columns));
        if let (AggregateFunction::AnyValue, [constant]) = (&call.function, &call.args[..])
            && constant.columns().is_empty()
        {
            // It has its value where there are no rows, too. Of a text that is no number an aggregate says nothing.
            let (ty, args) = (call.ty, vec![constant.clone()]);
            let value = match ty.is_text() {
                true => Expr::Call { function: ScalarFunction::Coalesce, args, ty },
                false => constant.clone(),
            };
            let derivation = derivation.unwrap_or(Item::new(Expr::null(ty), ty).derivation);
            let item = as_operand(Item { decimals, derivation, is_ascii, ..Item::new(value, ty) });
            return Ok(self.shown_as(item, shown));
        }
        let aggregates = place_of(&call, cx).ok_or_else(invalid_use)?;
        let known = aggregates.borrow().calls.iter().find(|(_, c)| *c == call).map(|(id, _)| *id);
        let id = match known {
            Some(id) => id,
            None => {
                let id = self.aggregate_column(function.to_string(), &call, decimals);
                self.note_aggregate(id, &call, list);
                aggregates.borrow_mut().calls.push((id, call));
                id
            }
        };
        let item = self.aggregate_item(id, shown);
        let item = match derivation {
            Some(derivation) if item.ty.collation().is_some() => Item { derivation, is_ascii, ..item },
            _ => item,
        };
        // Bits that become a text are a byte string.
        Ok(match self.aggregated_bits.contains(&id) {
            true => Item { text_collation: Some(Collation::Binary), derivation: Derivation::Literal, ..item },
            false => item,
        })
    }

    /// Notes what is asked later about the column of an aggregate.
    fn note_aggregate(&mut self, id: ColId, call: &AggregateCall, list: &ast::FunctionArgumentList) {
        use AggregateFunction as F;
        if let (F::Min | F::Max, Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)))) =
            (&call.function, list.args.first())
        {
            self.set_extreme_shape(id, arg);
        }
        if call.ty.is_temporal() || call.ty.is_text() && is_kept_text(call) {
            self.columns.set_chosen(id);
        }
        if matches!(call.function, F::BitAnd | F::BitOr | F::BitXor) && call.ty.is_integer() {
            self.aggregated_bits.insert(id);
        }
        match call.function {
            F::GroupConcat { .. } => self.joined_texts.insert(id),
            _ => self.aggregated_columns.insert(id),
        };
    }

    /// A new column for the results of an aggregate. `decimals`: digits behind the point that a floating-point result
    /// shows.
    pub(super) fn aggregate_column(&mut self, name: String, call: &AggregateCall, decimals: Option<u8>) -> ColId {
        let ty = call.ty;
        let nullable = !matches!(
            call.function,
            AggregateFunction::Count | AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
        );
        let id = self.columns.add_computed(name, ty, nullable);
        self.columns.set_decimals(id, decimals);
        let length = match (&call.function, &call.args[..]) {
            (AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue, [arg]) => {
                length::of_integer(arg, &self.columns)
            }
            _ => ty.is_integer().then_some(AGGREGATE_LENGTH),
        };
        self.columns.set_length(id, length);
        let shape = self.extreme_shape(call, ty);
        let shape = match (&call.function, &call.args[..]) {
            (AggregateFunction::AnyValue, [arg]) => ResultShape { nullable: Some(self.nullable(arg)), ..shape },
            _ => shape,
        };
        self.columns.set_shape(id, shape);
        if ty == SqlType::Double && is_sum(call) {
            self.summed_doubles.insert(id);
        }
        id
    }

    /// The result of an aggregate as an item. `shown`: the type that it shows.
    pub(super) fn aggregate_item(&mut self, id: ColId, shown: SqlType) -> Item {
        let item = self.column_item(id);
        match shown.operand_type() == shown {
            true => self.shown_as(item, shown),
            // As in MySQL, the smallest and the largest year show as numbers.
            false if shown == SqlType::Year => self.no_operand(item),
            false => item,
        }
    }

    /// The call, the type its result shows, how many digits behind the point if that is a floating-point number, and
    /// where the collation of a text comes from.
    pub(super) fn aggregate_call(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
        star: bool,
        distinct: bool,
        cx: &mut ExprContext,
    ) -> Result<(AggregateCall, SqlType, Option<u8>, Option<Derivation>)> {
        let rules = self.arithmetic_rules();
        if name != "GROUP_CONCAT" && !list.clauses.is_empty() {
            return Err(SqlError::syntax(name, 1));
        }
        if name.starts_with("JSON") {
            let call = self.json_aggregate(name, list, distinct, cx)?;
            return Ok((call, SqlType::Json, None, None));
        }
        let several = name == "GROUP_CONCAT" || name == "COUNT" && distinct;
        let mut items = if star { Vec::new() } else { self.aggregate_arguments(list, several, cx)? };
        if name == "GROUP_CONCAT" {
            let (call, derivation) = self.group_concat(items, list, distinct, cx)?;
            let ty = call.ty;
            return Ok((call, ty, None, Some(derivation)));
        }
        items = self.aggregated(name, items, cx.in_window);
        let one = |b: &mut Self, function, arg, ty| {
            let args = vec![b.aggregated_value(items[0].clone(), arg, distinct).expr];
            AggregateCall { function, args, distinct, ty }
        };
        use AggregateFunction as F;
        let mut shown = None;
        let call = match name {
            "COUNT" => {
                let args = items.iter().map(|i| i.expr.clone()).collect();
                AggregateCall { function: F::Count, args, distinct, ty: SqlType::BIGINT }
            }
            "SUM" => {
                let (sum, arg) = aggregate::sum(&self.measured(items[0].clone()));
                shown = Some(sum);
                let ty = items[0].kept.map_or(sum, |digits| widened(digits, sum));
                one(self, F::Sum, items[0].kept_type(arg, scale_of(ty)), ty)
            }
            "AVG" => {
                let (average, arg) = aggregate::avg(&self.measured(items[0].clone()), rules);
                shown = Some(average);
                let arg = items[0].kept_type(arg, KEPT_DIGITS);
                let kept = quotient_scale(scale_of(arg), 0, rules.increment);
                let ty = if cx.in_arithmetic { widened(kept, average) } else { average };
                one(self, F::Avg, arg, ty)
            }
            "MIN" | "MAX" | "ANY_VALUE" => {
                let ty = aggregate::extreme(items[0].ty);
                // The smallest of the distinct values is the smallest.
                AggregateCall { distinct: false, ..one(self, one_of_values(name), ty, ty) }
            }
            name if distinct && (name.starts_with("STD") || name.starts_with("VAR") || name.starts_with("BIT")) => {
                return Err(SqlError::syntax("DISTINCT", 1));
            }
            "STD" | "STDDEV" | "STDDEV_POP" => one(self, F::StdDevPop, SqlType::Double, SqlType::Double),
            "STDDEV_SAMP" => one(self, F::StdDevSamp, SqlType::Double, SqlType::Double),
            "VARIANCE" | "VAR_POP" => one(self, F::VarPop, SqlType::Double, SqlType::Double),
            "VAR_SAMP" => one(self, F::VarSamp, SqlType::Double, SqlType::Double),
            _ => self.bit_aggregate(name, items[0].clone())?,
        };
        let decimals = shown_decimals(&call, &items, rules);
        let shown = shown.unwrap_or(call.ty);
        let is_one = matches!(call.function, F::Min | F::Max | F::AnyValue);
        let derivation = items.first().filter(|_| is_one).map(|item| item.derivation);
        Ok((call, shown, decimals, derivation))
    }

    /// The arguments of an aggregate that takes one of them, or `several`. Error 1064 for another number.
    fn aggregate_arguments(
        &mut self,
        list: &ast::FunctionArgumentList,
        several: bool,
        cx: &mut ExprContext,
    ) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) = arg else { return Err(SqlError::syntax(arg, 1)) };
            items.push(Item { shown: None, ..self.expr(e, cx)? });
        }
        match items.is_empty() || items.len() > 1 && !several {
            true => Err(SqlError::syntax(")", 1)),
            false => Ok(items),
        }
    }

    /// The argument of an aggregate as type `ty`. Of distinct texts that are no numbers MySQL says nothing.
    fn aggregated_value(&mut self, item: Item, ty: SqlType, distinct: bool) -> Item {
        let item = if distinct { self.quiet_number(item, ty) } else { item };
        self.operand(item, ty)
    }

    /// BIT_AND, BIT_OR and BIT_XOR: of byte strings a byte string, of anything else an integer. Error 3514 for long
    /// byte strings.
    fn bit_aggregate(&mut self, name: &str, item: Item) -> Result<AggregateCall> {
        let function = match name {
            "BIT_AND" => AggregateFunction::BitAnd,
            "BIT_OR" => AggregateFunction::BitOr,
            _ => AggregateFunction::BitXor,
        };
        let (arg, ty) = match item.ty {
            SqlType::Bytes { length, .. } if length > BIT_BYTES_MAX => {
                let message = format!(
                    "Aggregate bitwise functions cannot accept arguments longer than {BIT_BYTES_MAX} bytes; \
                     consider using the SUBSTRING() function"
                );
                return Err(SqlError::new(ErrorCode::InvalidBitwiseAggregateOperandsSize, message));
            }
            SqlType::Bytes { length, .. } => (item.expr, SqlType::Bytes { kind: BytesKind::VarBinary, length }),
            _ => (self.bits_of(item), SqlType::BIGINT_UNSIGNED),
        };
        Ok(AggregateCall { function, args: vec![arg], distinct: false, ty })
    }

    /// The arguments of an aggregate: MIN, MAX and ANY_VALUE take columns of YEAR and BIT as they are stored, unless
    /// they have a window.
    fn aggregated(&mut self, name: &str, items: Vec<Item>, in_window: bool) -> Vec<Item> {
        let is_number = |item: &Item| matches!(self.declared_type(item), Some(SqlType::Bit { .. } | SqlType::Year));
        if !matches!(name, "COUNT" | "MIN" | "MAX" | "ANY_VALUE") {
            return items.into_iter().map(|item| self.number_of_bytes(item)).collect();
        }
        let is_extreme = matches!(name, "MIN" | "MAX") && !in_window;
        // Any of the members of an ENUM or SET is a text, also as a number.
        let is_member = |item: &Item| matches!(self.declared_type(item), Some(SqlType::Enum(_) | SqlType::Set(_)));
        let is_any = name == "ANY_VALUE" && !items.iter().any(is_member);
        let bare = is_any || is_extreme && items.iter().all(is_number);
        if bare { items.into_iter().map(|item| self.bare_unfilled(item)).collect() } else { items }
    }

    fn group_concat(
        &mut self,
        items: Vec<Item>,
        list: &ast::FunctionArgumentList,
        distinct: bool,
        cx: &mut ExprContext,
    ) -> Result<(AggregateCall, Derivation)> {
        let (mut separator, mut order) = (",".to_string(), Vec::new());
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::Separator(value) => match self.value(&value.value)?.as_literal() {
                    Some(Value::Text(text)) => separator = text.clone(),
                    Some(Value::Bytes(bytes)) => separator = String::from_utf8_lossy(bytes).into_owned(),
                    _ => return Err(SqlError::syntax(value, 1)),
                },
                FunctionArgumentClause::OrderBy(keys) => {
                    for key in keys {
                        let descending = order::descending(key)?;
                        let item = match order::position(&key.expr, items.len(), Clause::OrderBy)? {
                            Some(i) => items[i].clone(),
                            None => self.expr(&key.expr, cx)?,
                        };
                        let expr = self.bare(item).expr;
                        order.push(SortKey { expr, descending });
                    }
                }
                _ => return Err(SqlError::unsupported("this clause of GROUP_CONCAT")),
            }
        }
        let items = match distinct || !order.is_empty() {
            true => items.into_iter().map(|item| self.bits_as_written_digits(item)).collect(),
            false => items,
        };
        let (items, (collation, derivation)) = self.texts(items, "group_concat")?;
        // The text of numbers is as strong as a literal.
        let derivation = derivation.min(Derivation::Literal);
        let args: Vec<Expr> = items.into_iter().map(|item| item.expr).collect();
        let length = match self.env.session.kept_variable("group_concat_max_len") {
            Value::Int(n) => n.max(0) as u64,
            Value::UInt(n) => n,
            _ => 1024,
        };
        let ty = group_concat_type(length, collation);
        let bytes_max = usize::try_from(length).unwrap_or(usize::MAX).min(u32::MAX as usize);
        let function = AggregateFunction::GroupConcat { separator, bytes_max, order };
        Ok((AggregateCall { function, args, distinct, ty }, derivation))
    }
}

impl Binder<'_> {
    /// The values of a BIT column as the byte strings of their digits, which they are in the tree that GROUP_CONCAT
    /// sorts (MySQL: a temporary table has a BIGINT for them).
    fn bits_as_written_digits(&mut self, item: Item) -> Item {
        match self.declared_type(&item) {
            Some(SqlType::Bit { .. }) => {
                let ty = SqlType::Bytes { kind: BytesKind::VarBinary, length: BIGINT_DIGITS };
                let item = self.no_operand(item);
                Item { derivation: Derivation::Implicit, ..self.convert(item, ty) }
            }
            _ => item,
        }
    }
}

/// Digits of the largest BIGINT UNSIGNED.
const BIGINT_DIGITS: u32 = 20;

/// MIN, MAX or ANY_VALUE, by its name.
fn one_of_values(name: &str) -> AggregateFunction {
    match name {
        "MIN" => AggregateFunction::Min,
        "MAX" => AggregateFunction::Max,
        _ => AggregateFunction::AnyValue,
    }
}

/// Returns true for an aggregate whose value is computed, not one of its arguments.
fn is_sum(call: &AggregateCall) -> bool {
    use AggregateFunction as F;
    matches!(call.function, F::Sum | F::Avg | F::StdDevPop | F::StdDevSamp | F::VarPop | F::VarSamp)
}

/// Returns true for MIN and MAX of a text that CREATE TABLE .. SELECT gives its own type. One that a function has made
/// a CHAR becomes a VARCHAR.
fn is_kept_text(call: &AggregateCall) -> bool {
    let is_char = matches!(call.ty, SqlType::Text { kind: TextKind::Char, .. });
    let is_column = matches!(call.args[..], [Expr::Column(_)]);
    matches!(call.function, AggregateFunction::Min | AggregateFunction::Max) && (is_column || !is_char)
}

/// Digits behind the point that the result shows if it is a floating-point number.
fn shown_decimals(call: &AggregateCall, items: &[Item], rules: ArithmeticRules) -> Option<u8> {
    use AggregateFunction as F;
    match (&call.function, call.ty) {
        (F::Sum | F::Min | F::Max | F::AnyValue, SqlType::Float | SqlType::Double) => items[0].shown_decimals(),
        (F::Min | F::Max | F::AnyValue, SqlType::Bytes { .. }) if items[0].hexadecimal => Some(0),
        (F::Avg, SqlType::Double) => items[0].shown_decimals().map(|shown| more_decimals(shown, rules)),
        _ => None,
    }
}
