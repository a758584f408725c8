//! Types of the columns that CREATE TABLE .. SELECT makes where they are not those that clients are told (MySQL:
//! `create_table_from_items`): of a function that gives an integer the column is an INT or a BIGINT by its length.

use super::{
    binder::Binder,
    expr::{is_aggregate, plain_args},
    select::column_name,
    written_null::lone_item,
};
use crate::typing::length;
use muster_algebra::{ColId, Expr};
use muster_types::{
    BytesKind, Collation, IntWidth, SqlType, TextKind,
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL_MAX_SCALE},
};
use sqlparser::ast::{self, UnaryOperator};

/// Characters of the longest integer that a function gives as an INT (MySQL: `MY_INT32_NUM_DECIMAL_DIGITS`).
const CALLED_INT: u32 = 11;
/// Characters of the longest integer of anything else that is an INT.
const OTHER_INT: u32 = 9;
/// Bytes of a text parameter.
const PARAMETER_BYTES: u32 = 65_535;

/// The column that CREATE TABLE .. SELECT makes of an item of a select list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MadeOf {
    /// A function or operator: its length decides.
    Call,
    /// IFNULL, a user variable: the column has the type that clients are told.
    Told,
    /// MIN or MAX of an expression, whose integers are BIGINT.
    Extreme,
    Parameter,
    /// A literal, a subquery, a window function.
    Other,
}

impl Binder<'_> {
    /// The type of the column that CREATE TABLE .. SELECT makes of an item of the select list; `None`: that of the
    /// item's values. `written`: `None` for what `*` stands for.
    pub(super) fn made_type(&self, written: Option<&ast::Expr>, id: ColId) -> Option<SqlType> {
        let ty = self.columns.ty(id);
        let is_column = self.columns.get(id).origin.is_some() || self.columns.shape(id).stored;
        let is_rolled_up = self.rolled_up.contains(&id);
        let integer = match ty {
            // A system variable is declared as UNSIGNED.
            SqlType::Int { unsigned, .. } => Some(unsigned || self.columns.shape(id).unsigned),
            SqlType::Bool => Some(false),
            SqlType::Unsigned(number) if number.plain().is_integer() => Some(true),
            SqlType::Bit { .. } if is_rolled_up => Some(true),
            _ => None,
        };
        let of_width = |width| integer.map(|unsigned| SqlType::Int { width, unsigned });
        let by_length = |most: u32| {
            let length = length::of_integer(&Expr::Column(id), &self.columns).unwrap_or(length::of_column(ty));
            of_width(if length <= most { IntWidth::Int } else { IntWidth::Big })
        };
        // The key of a rollup is a function of the key.
        let made_of = if is_rolled_up { MadeOf::Call } else { written.map_or(MadeOf::Other, made_of) };
        match made_of {
            MadeOf::Parameter => parameter(ty, self.default_collation()),
            MadeOf::Told => of_width(IntWidth::Big).and(Some(ty)),
            MadeOf::Extreme => of_width(IntWidth::Big),
            MadeOf::Call => match ty {
                SqlType::Bytes { kind: BytesKind::Binary, length } if is_rolled_up => {
                    Some(SqlType::Bytes { kind: BytesKind::VarBinary, length })
                }
                _ => by_length(CALLED_INT),
            },
            MadeOf::Other if is_column => None,
            MadeOf::Other => matches!(ty, SqlType::Int { width: IntWidth::Big, .. }).then(|| by_length(OTHER_INT))?,
        }
    }
}

fn made_of(written: &ast::Expr) -> MadeOf {
    use ast::Expr as E;
    match written {
        E::Nested(inner) | E::UnaryOp { op: UnaryOperator::Plus, expr: inner } => made_of(inner),
        E::Value(value) => match &value.value {
            ast::Value::Placeholder(_) => MadeOf::Parameter,
            _ => MadeOf::Other,
        },
        // The sign belongs to the number.
        E::UnaryOp { op: UnaryOperator::Minus, expr } => match **expr {
            E::Value(_) => MadeOf::Other,
            _ => MadeOf::Call,
        },
        E::Subquery(query) => lone_item(query).map_or(MadeOf::Other, made_of),
        E::Function(function) if function.over.is_some() => MadeOf::Other,
        E::Function(function) => {
            let name = function.name.to_string().to_ascii_uppercase();
            match name.as_str() {
                "IFNULL" => MadeOf::Told,
                "ANY_VALUE" => MadeOf::Call,
                "MIN" | "MAX" => {
                    let args = plain_args(function).unwrap_or_default();
                    let is_column = args.first().is_some_and(|arg| column_name(arg).is_some());
                    if is_column { MadeOf::Other } else { MadeOf::Extreme }
                }
                name if is_aggregate(name) => MadeOf::Other,
                _ => MadeOf::Call,
            }
        }
        E::Identifier(name) if name.value.starts_with('@') && !name.value.starts_with("@@") => MadeOf::Told,
        E::Identifier(name) if !name.value.starts_with('@') => MadeOf::Other,
        E::CompoundIdentifier(names) if !names[0].value.starts_with('@') => MadeOf::Other,
        _ => MadeOf::Call,
    }
}

/// The type of the column of a parameter that has a value of type `ty`.
fn parameter(ty: SqlType, collation: Collation) -> Option<SqlType> {
    Some(match ty {
        SqlType::Int { unsigned, .. } => SqlType::Int { width: IntWidth::Big, unsigned },
        SqlType::Decimal { .. } => SqlType::decimal(DECIMAL_MAX_PRECISION.into(), DECIMAL_MAX_SCALE.into()),
        SqlType::Null | SqlType::Text { .. } | SqlType::Bytes { .. } => {
            SqlType::Text { kind: TextKind::Text, length: PARAMETER_BYTES, collation }
        }
        _ => return None,
    })
}
