//! Which select items MySQL declares as nullable (`Item::m_nullable`). It follows from how they are written: most
//! functions of texts and dates count as nullable whatever they are given, an operator or another function if an
//! operand does.
//!
//! While a select list is bound, [`Binder::note_part`] keeps of each part what its name does not tell: whether a column
//! can be NULL, and the type. Afterwards [`Binder::is_written_nullable`] goes through the item.

use super::{Parameters, binder::Binder, from::is_dual, result_shape::is_interval};
use crate::typing::{Item, length};
use muster_algebra::{ColId, Expr};
use muster_types::SqlType;
use sqlparser::ast::{self, BinaryOperator, DataType, FunctionArg, FunctionArgExpr, FunctionArguments};
use std::collections::HashMap;

/// What is known of a part of a select item beside how it is written.
#[derive(Debug, Clone, Copy)]
struct Part {
    ty: SqlType,
    nullable: bool,
    unsigned: bool,
    /// Characters of an integer.
    length: Option<u32>,
}

/// The parts of the select lists bound so far, by their place in the statement's tree.
#[derive(Debug, Default)]
pub(crate) struct WrittenParts(HashMap<*const ast::Expr, Part>);

/// Characters of an integer that a cast gives.
const CAST_LENGTH: u32 = 21;

/// Functions whose result counts as nullable, whatever their arguments are.
const ALWAYS: &[&str] = &[
    "ACOS",
    "ADDDATE",
    "ADDTIME",
    "AES_DECRYPT",
    "AES_ENCRYPT",
    "ASIN",
    "ATAN",
    "ATAN2",
    "AVG",
    "BENCHMARK",
    "BIN",
    "BIN_TO_UUID",
    "CHAR",
    "CHARSET",
    "COLLATION",
    "COMPRESS",
    "CONCAT",
    "CONCAT_WS",
    "CONV",
    "CONVERT_TZ",
    "COS",
    "COT",
    "CURRENT_ROLE",
    "CURRENT_USER",
    "DATABASE",
    "DATE",
    "DATEDIFF",
    "DATE_ADD",
    "DATE_FORMAT",
    "DATE_SUB",
    "DAY",
    "DAYNAME",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "DEFAULT",
    "ELT",
    "EXP",
    "EXPORT_SET",
    "EXTRACTVALUE",
    "FORMAT",
    "FORMAT_BYTES",
    "FORMAT_PICO_TIME",
    "FROM_BASE64",
    "FROM_UNIXTIME",
    "GET_FORMAT",
    "GET_LOCK",
    "GROUP_CONCAT",
    "HEX",
    "HOUR",
    "INET6_ATON",
    "INET6_NTOA",
    "INET_ATON",
    "INET_NTOA",
    "INSERT",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "IS_UUID",
    "LAST_DAY",
    "LCASE",
    "LEFT",
    "LN",
    "LOAD_FILE",
    "LOG",
    "LOG10",
    "LOG2",
    "LOWER",
    "LPAD",
    "LTRIM",
    "MAKEDATE",
    "MAKETIME",
    "MAX",
    "MD5",
    "MICROSECOND",
    "MID",
    "MIN",
    "MINUTE",
    "MOD",
    "MONTH",
    "MONTHNAME",
    "NAME_CONST",
    "NULLIF",
    "OCT",
    "POW",
    "POWER",
    "PS_CURRENT_THREAD_ID",
    "PS_THREAD_ID",
    "QUARTER",
    "QUOTE",
    "RANDOM_BYTES",
    "REGEXP_SUBSTR",
    "RELEASE_LOCK",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "RIGHT",
    "ROLES_GRAPHML",
    "RPAD",
    "RTRIM",
    "SCHEMA",
    "SECOND",
    "SEC_TO_TIME",
    "SESSION_USER",
    "SHA",
    "SHA1",
    "SHA2",
    "SIN",
    "SOUNDEX",
    "SPACE",
    "SQRT",
    "STATEMENT_DIGEST",
    "STATEMENT_DIGEST_TEXT",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "STR_TO_DATE",
    "SUBDATE",
    "SUBSTR",
    "SUBSTRING",
    "SUBSTRING_INDEX",
    "SUBTIME",
    "SUM",
    "SYSTEM_USER",
    "TAN",
    "TIME",
    "TIMEDIFF",
    "TIMESTAMP",
    "TIMESTAMPADD",
    "TIMESTAMPDIFF",
    "TIME_FORMAT",
    "TIME_TO_SEC",
    "TO_BASE64",
    "TO_DAYS",
    "TO_SECONDS",
    "TRIM",
    "UCASE",
    "UNCOMPRESS",
    "UNHEX",
    "UPDATEXML",
    "UPPER",
    "USER",
    "UUID",
    "UUID_TO_BIN",
    "VALIDATE_PASSWORD_STRENGTH",
    "VALUES",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
    "WEEK",
    "WEEKDAY",
    "WEEKOFYEAR",
    "WEIGHT_STRING",
    "YEAR",
    "YEARWEEK",
];

/// Functions whose result does not count as nullable, whatever their arguments are.
const NEVER: &[&str] = &[
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COERCIBILITY",
    "COUNT",
    "CUME_DIST",
    "DENSE_RANK",
    "FIELD",
    "INTERVAL",
    "ISNULL",
    "NTILE",
    "PERCENT_RANK",
    "RANK",
    "ROW_NUMBER",
    "SLEEP",
];

impl Binder<'_> {
    /// Keeps what the name of a part of a select list does not tell.
    pub(super) fn note_part(&mut self, written: &ast::Expr, item: &Item) {
        let nullable = match &item.expr {
            Expr::Column(id) => self.is_column_nullable(*id),
            Expr::Cast { arg, .. } if matches!(**arg, Expr::Column(_)) => match **arg {
                Expr::Column(id) => self.is_column_nullable(id),
                _ => true,
            },
            expr => self.nullable(expr),
        };
        let is_unsigned = |ty| matches!(ty, SqlType::Unsigned(_) | SqlType::Bit { .. } | SqlType::Year);
        let unsigned = item.ty.is_unsigned() || self.declared_type(item).is_some_and(is_unsigned);
        let length = match written {
            ast::Expr::Cast { .. } if item.ty.is_integer() => Some(CAST_LENGTH),
            _ => length::of_integer(&item.expr, &self.columns),
        };
        self.parts.0.insert(written, Part { ty: item.ty, nullable, unsigned, length });
    }

    fn noted(&self, written: &ast::Expr) -> Option<&Part> {
        match written {
            ast::Expr::Nested(inner) => self.noted(inner),
            _ => self.parts.0.get(&std::ptr::from_ref(written)),
        }
    }

    /// The type of a part of a select item.
    pub(super) fn part_type(&self, written: &ast::Expr) -> Option<SqlType> {
        self.noted(written).map(|part| part.ty)
    }

    /// Characters of a part that is an integer.
    pub(super) fn part_length(&self, written: &ast::Expr) -> Option<u32> {
        self.noted(written)?.length
    }

    /// Returns true for a part that is UNSIGNED.
    pub(super) fn is_part_unsigned(&self, written: &ast::Expr) -> bool {
        self.noted(written).is_some_and(|part| part.unsigned)
    }

    pub(super) fn is_column_nullable(&self, id: ColId) -> bool {
        self.columns.is_nullable_result(id) || self.null_extended.contains(&id)
    }

    /// Returns true if MySQL declares the expression of a select item as nullable.
    pub(super) fn is_written_nullable(&self, written: &ast::Expr) -> bool {
        use ast::Expr as E;
        let of = |written: &ast::Expr| self.is_written_nullable(written);
        match written {
            E::Nested(inner) => of(inner),
            E::Identifier(name) if is_variable(name) => true,
            E::CompoundIdentifier(names) if is_variable(&names[0]) => true,
            E::Subquery(query) => lone_item(query).is_none_or(of),
            E::Value(value) => match &value.value {
                ast::Value::Null => true,
                // A plan for all values is one of a text with literals, too, which are not NULL.
                ast::Value::Placeholder(_) => match self.env.parameters {
                    Parameters::Types(_) => self.is_part_nullable(written),
                    _ => true,
                },
                _ => false,
            },
            E::TypedString(_) | E::Prefixed { .. } => false,
            E::IsNull(_) | E::IsUnknown(_) | E::IsNotNull(_) | E::IsNotUnknown(_) => false,
            E::IsTrue(_) | E::IsNotTrue(_) | E::IsFalse(_) | E::IsNotFalse(_) | E::Exists { .. } => false,
            E::UnaryOp { expr, .. } => of(expr),
            E::BinaryOp { op: BinaryOperator::Spaceship, .. } => false,
            // There may be no quotient, and no such day.
            E::BinaryOp {
                op: BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::MyIntegerDivide,
                ..
            } => true,
            E::BinaryOp { left, right, .. } if is_interval(left) || is_interval(right) => true,
            E::BinaryOp { op: BinaryOperator::Assignment, right, .. } => of(right),
            E::BinaryOp { left, right, .. } => of(left) || of(right),
            E::Between { expr, low, high, .. } => of(expr) || of(low) || of(high),
            E::InList { expr, list, .. } => of(expr) || list.iter().any(of),
            E::Like { expr, pattern, .. } | E::RLike { expr, pattern, .. } => of(expr) || of(pattern),
            E::Position { expr, r#in } => of(expr) || of(r#in),
            E::Ceil { expr, .. } | E::Floor { expr, .. } => of(expr),
            E::Tuple(items) => items.iter().any(of),
            E::Case { conditions, else_result, .. } => {
                else_result.as_deref().is_none_or(of) || conditions.iter().any(|when| of(&when.result))
            }
            E::Cast { expr, data_type, .. } | E::Convert { expr, data_type: Some(data_type), .. } => {
                !is_number(data_type) || of(expr)
            }
            E::Trim { .. } | E::Extract { .. } | E::Substring { .. } | E::Collate { .. } | E::Convert { .. } => true,
            E::InSubquery { .. } | E::AnyOp { .. } | E::AllOp { .. } => true,
            E::Function(function) => self.is_call_nullable(written, function),
            _ => self.is_part_nullable(written),
        }
    }

    /// Returns true if a part of which only the result is looked at is nullable.
    fn is_part_nullable(&self, written: &ast::Expr) -> bool {
        self.parts.0.get(&std::ptr::from_ref(written)).is_none_or(|part| part.nullable)
    }

    fn is_call_nullable(&self, written: &ast::Expr, function: &ast::Function) -> bool {
        let name = function.name.to_string().to_ascii_uppercase();
        if ALWAYS.contains(&name.as_str()) {
            return true;
        }
        if NEVER.contains(&name.as_str()) {
            return false;
        }
        let args = arguments(function);
        let of = |written: &&ast::Expr| self.is_written_nullable(written);
        match (name.as_str(), &args[..]) {
            ("IFNULL" | "COALESCE", args) => args.iter().all(of),
            ("IF", [_, results @ ..]) => results.iter().any(of),
            ("FIRST_VALUE" | "LAST_VALUE" | "NTH_VALUE", _) => true,
            ("LAG" | "LEAD", [value, _, default]) => of(value) || of(default),
            ("LAG" | "LEAD", _) => true,
            // A text of another character set may not fit.
            ("REGEXP_REPLACE", args) => {
                let is_text = args.first().and_then(|arg| self.part_type(arg)).is_some_and(|ty| ty.is_text());
                is_text || args.iter().any(of)
            }
            (name, _) if name.starts_with("JSON") => self.is_part_nullable(written),
            (_, args) => args.iter().any(of),
        }
    }
}

/// `@x`, `@@x`.
fn is_variable(name: &ast::Ident) -> bool {
    name.quote_style.is_none() && name.value.starts_with('@')
}

/// The item of a subquery that is nothing but this item: the subquery is the item itself (MySQL:
/// `Item_singlerow_subselect::select_transformer`).
pub(super) fn lone_item(query: &ast::Query) -> Option<&ast::Expr> {
    let ast::SetExpr::Select(select) = &*query.body else { return None };
    let is_bare = query.with.is_none()
        && query.limit_clause.is_none()
        && select.from.iter().all(is_dual)
        && select.selection.is_none()
        && select.having.is_none();
    match &select.projection[..] {
        [ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }] if is_bare => Some(expr),
        _ => None,
    }
}

/// The expressions that a function is given, those of a window apart.
fn arguments(function: &ast::Function) -> Vec<&ast::Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let expression = |arg| match arg {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().filter_map(expression).collect()
}

/// Casts to texts, byte strings and moments count as nullable, those to numbers do not.
fn is_number(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Signed
            | DataType::SignedInteger
            | DataType::Unsigned
            | DataType::UnsignedInteger
            | DataType::Decimal(_)
            | DataType::Dec(_)
            | DataType::Double(_)
            | DataType::DoublePrecision
            | DataType::Real
            | DataType::Float(_)
    )
}
