//! Expressions as MySQL prints them: lower-case words, parentheses around every operator.

use crate::{
    AggregateCall, AggregateFunction, ArithmeticOp, ColId, Columns, CompareOp, Expr, IntervalUnit, LogicOp, Quantifier,
    ScalarFunction, SortKey, Subplan, Subquery, SubqueryKind,
};
use muster_types::{SqlType, Value};

/// An expression as MySQL prints it: `lineitem.l_quantity < 24.00`. Subqueries print as `(select)`.
pub fn outermost(expr: &Expr, columns: &Columns) -> String {
    outermost_with(expr, &|id| column_name(columns, id))
}

/// Writes an expression as [`outermost`] does, with other names for columns.
pub fn outermost_with(expr: &Expr, name: &dyn Fn(ColId) -> String) -> String {
    Printer { name, subplan: &|_| "(select)".into(), subquery: &|_| "(select)".into() }.outermost(expr)
}

/// Writes an expression as [`outermost_with`] does, but keeps the parentheses around the whole, as error messages have
/// them.
pub fn nested(expr: &Expr, name: &dyn Fn(ColId) -> String) -> String {
    Printer { name, subplan: &|_| "(select)".into(), subquery: &|_| "(select)".into() }.expr(expr)
}

/// An aggregate as MySQL prints it: `sum(lineitem.l_quantity)`.
pub fn aggregate(call: &AggregateCall, columns: &Columns) -> String {
    Printer { name: &|id| column_name(columns, id), subplan: &|_| "(select)".into(), subquery: &|_| "(select)".into() }
        .aggregate(call)
}

/// A column's name: `table.column`, or the name of what computes it.
pub fn column_name(columns: &Columns, id: ColId) -> String {
    let meta = columns.get(id);
    match &meta.origin {
        Some(origin) => format!("{}.{}", origin.alias, origin.column),
        None => meta.name.clone(),
    }
}

/// Prints expressions with the given names for columns and subqueries.
pub struct Printer<'a> {
    pub name: &'a dyn Fn(ColId) -> String,
    /// `(select #n)`
    pub subplan: &'a dyn Fn(&Subplan) -> String,
    /// The same before the subquery is planned.
    pub subquery: &'a dyn Fn(&Subquery) -> String,
}

pub fn compare_sign(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::NotEq => "<>",
        CompareOp::Lt => "<",
        CompareOp::LtEq => "<=",
        CompareOp::Gt => ">",
        CompareOp::GtEq => ">=",
        CompareOp::NullSafeEq => "<=>",
    }
}

impl Printer<'_> {
    /// Writes an expression without the parentheses around the whole.
    pub fn outermost(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        let bare = matches!(
            expr,
            Expr::Compare { .. }
                | Expr::Logic { .. }
                | Expr::Arithmetic { .. }
                | Expr::IsNull { .. }
                | Expr::IsTruth { .. }
                | Expr::InList { .. }
                | Expr::Like { .. }
        );
        match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(inside) if bare => inside.to_string(),
            _ => text,
        }
    }

    pub fn expr(&self, expr: &Expr) -> String {
        let not = |negated: &bool| if *negated { "not " } else { "" };
        match expr {
            Expr::Column(id) => (self.name)(*id),
            Expr::Literal { value: Value::Bool(b), .. } => b.to_string(),
            Expr::Literal { value, ty } => ty.shown(value).unwrap_or(Value::Null).to_string(),
            Expr::Parameter { .. } => "?".into(),
            // A value beside a document is compared as JSON without a word about it.
            Expr::Cast { arg, ty: SqlType::Json } => self.expr(arg),
            Expr::Cast { arg, ty } => format!("cast({} as {})", self.expr(arg), cast_name(*ty)),
            Expr::Compare { op, left, right } => {
                format!("({} {} {})", self.expr(left), compare_sign(*op), self.expr(right))
            }
            Expr::Logic { op, args } => {
                let word = match op {
                    LogicOp::And => " and ",
                    LogicOp::Or => " or ",
                    LogicOp::Xor => " xor ",
                };
                format!("({})", args.iter().map(|a| self.expr(a)).collect::<Vec<_>>().join(word))
            }
            Expr::Not(arg) => format!("(not({}))", self.outermost(arg)),
            Expr::IsNull { arg, negated } => format!("({} is {}null)", self.expr(arg), not(negated)),
            Expr::IsTruth { arg, truth, negated } => format!("({} is {}{truth})", self.expr(arg), not(negated)),
            Expr::Arithmetic { op, left, right, .. } => {
                let sign = match op {
                    ArithmeticOp::Add => "+",
                    ArithmeticOp::Sub => "-",
                    ArithmeticOp::Mul => "*",
                    ArithmeticOp::Div => "/",
                    ArithmeticOp::IntDiv => "DIV",
                    ArithmeticOp::Mod => "%",
                };
                format!("({} {sign} {})", self.expr(left), self.expr(right))
            }
            Expr::Negate { arg, .. } => format!("-({})", self.outermost(arg)),
            Expr::InList { arg, list, negated } => {
                format!("({} {}in ({}))", self.expr(arg), not(negated), self.list(list))
            }
            Expr::Like { arg, pattern, escape, negated } => {
                let escape = match escape {
                    Some('\\') => String::new(),
                    Some(c) => format!(" escape {}", Value::Text(c.to_string())),
                    None => " escape ''".into(),
                };
                format!("({} {}like {}{escape})", self.expr(arg), not(negated), self.expr(pattern))
            }
            Expr::Case { branches, otherwise, .. } => {
                let mut text = String::from("(case");
                for (condition, result) in branches {
                    text += &format!(" when {} then {}", self.expr(condition), self.expr(result));
                }
                if let Some(result) = otherwise {
                    text += &format!(" else {}", self.expr(result));
                }
                text + " end)"
            }
            // What an implicit conversion warns of is not shown.
            Expr::Call { function: ScalarFunction::ReadNumber(_) | ScalarFunction::MomentNumber, args, ty } => {
                format!("cast({} as {})", self.list(args), cast_name(*ty))
            }
            Expr::Call { function, args, .. } if function.is_unseen_conversion() => self.list(args),
            Expr::Call { function: ScalarFunction::AssignVariable | ScalarFunction::ReadVariable, args, .. } => {
                self.variable(args)
            }
            Expr::Call { function, args, .. } => self.call(*function, args),
            Expr::Subquery(q) => subquery_text(&q.kind, (self.subquery)(q), self),
            Expr::Subplan(s) => subquery_text(&s.kind, (self.subplan)(s), self),
        }
    }

    /// Separated by commas, as MySQL does.
    pub fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|e| self.outermost(e)).collect::<Vec<_>>().join(",")
    }

    /// `(@name)`, `(@name:=value)`.
    fn variable(&self, args: &[Expr]) -> String {
        let name = match args.first() {
            Some(Expr::Literal { value: Value::Text(name), .. }) => name.as_str(),
            _ => "",
        };
        let value = args.get(1).map_or_else(String::new, |value| format!(":={}", self.outermost(value)));
        format!("(@{name}{value})")
    }

    fn call(&self, function: ScalarFunction, args: &[Expr]) -> String {
        // What an implicit conversion refuses is not shown.
        if let ScalarFunction::DecodeText(_) = function {
            return self.list(args);
        }
        use ScalarFunction::*;
        let infix = match function {
            BitAnd => "&",
            BitOr => "|",
            BitXor => "^",
            ShiftLeft => "<<",
            ShiftRight => ">>",
            _ => "",
        };
        match (function, args) {
            (DateAdd(unit), [date, count, ..]) => {
                format!("({} + interval {} {})", self.expr(date), self.expr(count), unit_name(unit))
            }
            (DateSub(unit), [date, count, ..]) => {
                format!("({} - interval {} {})", self.expr(date), self.expr(count), unit_name(unit))
            }
            (Extract(unit), [arg, ..]) => format!("extract({} from {})", unit_name(unit), self.expr(arg)),
            (BitNot, [arg]) => format!("~({})", self.outermost(arg)),
            (_, [a, b]) if !infix.is_empty() => format!("({} {infix} {})", self.expr(a), self.expr(b)),
            (ParseJson, [arg]) => format!("cast({} as json)", self.expr(arg)),
            (Library(function), [a, b]) if function.name == "MEMBER OF" => {
                format!("{} member of ({})", self.expr(a), self.expr(b))
            }
            (Library(function), _) => format!("{}({})", function.printed_name(), self.list(function.given(args))),
            _ => format!("{}({})", function_name(function), self.list(args)),
        }
    }

    pub fn aggregate(&self, call: &AggregateCall) -> String {
        let distinct = if call.distinct { "distinct " } else { "" };
        let args = match (&call.function, &call.args[..]) {
            (_, []) => "0".to_string(),
            // The document of a row is made of what the statement has.
            (AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg, [Expr::Call { args, .. }]) => {
                self.list(args)
            }
            (_, args) => self.list(args),
        };
        let tail = match &call.function {
            AggregateFunction::GroupConcat { separator, order, .. } => {
                let order =
                    if order.is_empty() { String::new() } else { format!(" order by {}", self.sort_keys(order)) };
                format!("{order} separator {}", Value::Text(separator.clone()))
            }
            _ => String::new(),
        };
        format!("{}({distinct}{args}{tail})", call.function.name())
    }

    pub fn sort_keys(&self, keys: &[SortKey]) -> String {
        let key = |k: &SortKey| format!("{}{}", self.outermost(&k.expr), if k.descending { " DESC" } else { "" });
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    }
}

/// The text of a subquery's predicate around its `(select #n)`.
fn subquery_text(kind: &SubqueryKind, select: String, printer: &Printer<'_>) -> String {
    match kind {
        SubqueryKind::Scalar | SubqueryKind::Rows => select,
        SubqueryKind::Exists { negated } => format!("{}exists{select}", if *negated { "not " } else { "" }),
        SubqueryKind::In { left, negated } => {
            let left = match left.as_slice() {
                [single] => printer.expr(single),
                many => format!("({})", printer.list(many)),
            };
            format!("({left} {}in {select})", if *negated { "not " } else { "" })
        }
        SubqueryKind::Compare { left, op, quantifier } => {
            let word = match quantifier {
                Quantifier::Any => "any",
                Quantifier::All => "all",
            };
            format!("({} {} {word} {select})", printer.expr(left), compare_sign(*op))
        }
    }
}

/// The type as CAST takes it.
fn cast_name(ty: SqlType) -> String {
    match ty {
        SqlType::Int { unsigned: true, .. } => "unsigned".into(),
        SqlType::Int { .. } | SqlType::Bool => "signed".into(),
        SqlType::Text { length: u32::MAX, .. } => "char".into(),
        SqlType::Text { length, .. } => format!("char({length})"),
        SqlType::Bytes { length: u32::MAX, .. } => "binary".into(),
        SqlType::Bytes { length, .. } => format!("binary({length})"),
        other => other.to_string(),
    }
}

pub fn unit_name(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Microsecond => "microsecond",
        IntervalUnit::Second => "second",
        IntervalUnit::Minute => "minute",
        IntervalUnit::Hour => "hour",
        IntervalUnit::Day => "day",
        IntervalUnit::Week => "week",
        IntervalUnit::Month => "month",
        IntervalUnit::Quarter => "quarter",
        IntervalUnit::Year => "year",
        IntervalUnit::SecondMicrosecond => "second_microsecond",
        IntervalUnit::MinuteMicrosecond => "minute_microsecond",
        IntervalUnit::MinuteSecond => "minute_second",
        IntervalUnit::HourMicrosecond => "hour_microsecond",
        IntervalUnit::HourSecond => "hour_second",
        IntervalUnit::HourMinute => "hour_minute",
        IntervalUnit::DayMicrosecond => "day_microsecond",
        IntervalUnit::DaySecond => "day_second",
        IntervalUnit::DayMinute => "day_minute",
        IntervalUnit::DayHour => "day_hour",
        IntervalUnit::YearMonth => "year_month",
    }
}

fn function_name(function: ScalarFunction) -> &'static str {
    use ScalarFunction::*;
    match function {
        ReadNumber(_) | MomentNumber | ComputedInteger | FittedDouble | ParseJson | DecodeText(_) => "read_number",
        ReadDate => "read_date",
        DateAdd(_) => "date_add",
        DateSub(_) => "date_sub",
        Extract(_) => "extract",
        DayOfWeek => "dayofweek",
        Weekday => "weekday",
        DayOfYear => "dayofyear",
        Week => "week",
        YearWeek => "yearweek",
        DateDiff => "datediff",
        LastDay => "last_day",
        ConvertTz => "convert_tz",
        Substring => "substr",
        Concat => "concat",
        ConcatWs => "concat_ws",
        Upper => "upper",
        Lower => "lower",
        CharLength => "char_length",
        Length => "length",
        Trim => "trim",
        LTrim => "ltrim",
        RTrim => "rtrim",
        Left => "left",
        Right => "right",
        LPad => "lpad",
        RPad => "rpad",
        Replace => "replace",
        Repeat => "repeat",
        Reverse => "reverse",
        Locate => "locate",
        Ascii => "ascii",
        Coalesce => "coalesce",
        NullIf => "nullif",
        Greatest => "greatest",
        Least => "least",
        Abs => "abs",
        Sign => "sign",
        Ceil => "ceiling",
        Floor => "floor",
        Round => "round",
        Truncate => "truncate",
        Sqrt => "sqrt",
        Pow => "pow",
        Exp => "exp",
        Ln => "ln",
        Log10 => "log10",
        Log2 => "log2",
        Log => "log",
        Sin => "sin",
        Cos => "cos",
        Tan => "tan",
        Sleep => "sleep",
        Benchmark => "benchmark",
        Session(function) => function.name(),
        LastInsertId | AssignVariable | ReadVariable => "last_insert_id",
        Library(function) => function.name,
        Crc32 => "crc32",
        BitAnd => "bit_and",
        BitOr => "bit_or",
        BitXor => "bit_xor",
        BitNot => "bit_not",
        BitCount => "bit_count",
        ShiftLeft => "shift_left",
        ShiftRight => "shift_right",
    }
}

#[cfg(test)]
#[path = "expr_text_tests.rs"]
mod tests;
