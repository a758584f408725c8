//! What MySQL declares of strings and numbers that are one of several, by how they are written: the type of the longest
//! BLOB among them, and whether all are UNSIGNED (`Field::field_type_merge`, `Item_num_op::resolve_type`).

use super::{binder::Binder, expr::plain_args, select::column_name};
use crate::typing::{bytes_of_length, text_of_length};
use muster_algebra::ResultShape;
use muster_types::{BytesKind, SqlType, TextKind};
use sqlparser::ast::{self, BinaryOperator};

/// The type of a string as far as merging goes; the longer one is that of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StringRank {
    /// No string.
    None,
    /// CHAR and BINARY.
    Fixed,
    Variable,
    Blob,
    MediumBlob,
    LongBlob,
}

impl Binder<'_> {
    /// The shape of a string of type `ty` that is one of what these parts give; nothing for what is no string.
    pub(super) fn merged_string(&self, ty: SqlType, parts: &[&ast::Expr]) -> ResultShape {
        if !ty.is_text() && !ty.is_bytes() {
            return ResultShape::default();
        }
        let rank = self.merged_rank(parts);
        let ty = match (rank, ty) {
            (StringRank::Fixed, SqlType::Bytes { length, .. }) => {
                Some(SqlType::Bytes { kind: BytesKind::Binary, length })
            }
            (_, SqlType::Text { length, collation, .. }) => {
                blob_kinds(rank).map(|(kind, _)| SqlType::Text { kind, length, collation })
            }
            (_, SqlType::Bytes { length, .. }) => blob_kinds(rank).map(|(_, kind)| SqlType::Bytes { kind, length }),
            _ => None,
        };
        let are_unsigned = parts.iter().any(|part| !is_null(part)) && self.are_declared_unsigned(parts);
        ResultShape { ty, unsigned: are_unsigned, ..ResultShape::default() }
    }

    fn merged_rank(&self, parts: &[&ast::Expr]) -> StringRank {
        parts.iter().map(|part| self.string_rank(part)).max().unwrap_or(StringRank::None)
    }

    fn string_rank(&self, written: &ast::Expr) -> StringRank {
        if let ast::Expr::Nested(inner) = written {
            return self.string_rank(inner);
        }
        if let Some(parts) = results(written) {
            return self.merged_rank(&parts);
        }
        let ty = self.part_type(written);
        let is_column = column_name(written).is_some();
        match ty {
            Some(ty) if ty.is_long() && is_column => StringRank::Blob,
            Some(SqlType::Text { kind: TextKind::Char, .. } | SqlType::Bytes { kind: BytesKind::Binary, .. }) => {
                StringRank::Fixed
            }
            // A computed string has a type by its length.
            Some(SqlType::Text { length, collation, .. }) => match text_of_length(length.into(), collation) {
                SqlType::Text { kind: TextKind::MediumText, .. } => StringRank::MediumBlob,
                SqlType::Text { kind: TextKind::LongText, .. } => StringRank::LongBlob,
                _ => StringRank::Variable,
            },
            Some(SqlType::Bytes { length, .. }) => match bytes_of_length(length.into()) {
                SqlType::Bytes { kind: BytesKind::MediumBlob, .. } => StringRank::MediumBlob,
                SqlType::Bytes { kind: BytesKind::LongBlob, .. } => StringRank::LongBlob,
                _ => StringRank::Variable,
            },
            _ => StringRank::None,
        }
    }

    /// Returns true if the value of a part is declared as UNSIGNED.
    pub(super) fn is_declared_unsigned(&self, written: &ast::Expr) -> bool {
        use ast::Expr as E;
        match written {
            E::Nested(inner) => self.is_declared_unsigned(inner),
            E::Value(value) => matches!(value.value, ast::Value::HexStringLiteral(_)),
            E::BinaryOp { op: BinaryOperator::Modulo, left, .. } => self.is_declared_unsigned(left),
            E::Function(function) if function.name.to_string().eq_ignore_ascii_case("ABS") => {
                plain_args(function).is_ok_and(|args| args.iter().all(|arg| self.is_declared_unsigned(arg)))
            }
            E::BinaryOp { left, op, right } if is_arithmetic(op) => {
                let is_exact = !matches!(self.part_type(written), Some(SqlType::Double) | None);
                is_exact && self.is_declared_unsigned(left) && self.is_declared_unsigned(right)
            }
            _ => match results(written) {
                Some(parts) => self.are_declared_unsigned(&parts),
                None => self.is_part_unsigned(written),
            },
        }
    }

    fn are_declared_unsigned(&self, parts: &[&ast::Expr]) -> bool {
        parts.iter().all(|part| is_null(part) || self.is_declared_unsigned(part))
    }
}

pub(super) fn is_arithmetic(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply | BinaryOperator::Divide)
}

fn is_null(written: &ast::Expr) -> bool {
    matches!(written, ast::Expr::Value(value) if value.value == ast::Value::Null)
}

/// The parts of which an expression gives one.
pub(super) fn results(written: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match written {
        ast::Expr::Case { conditions, else_result, .. } => {
            Some(conditions.iter().map(|when| &when.result).chain(else_result.as_deref()).collect())
        }
        ast::Expr::Function(function) if function.over.is_none() => {
            let args = plain_args(function).ok()?;
            match (function.name.to_string().to_ascii_uppercase().as_str(), &args[..]) {
                ("IF", [_, results @ ..]) => Some(results.to_vec()),
                ("IFNULL" | "COALESCE" | "GREATEST" | "LEAST" | "MIN" | "MAX" | "ANY_VALUE", _) => Some(args),
                _ => None,
            }
        }
        _ => None,
    }
}

fn blob_kinds(rank: StringRank) -> Option<(TextKind, BytesKind)> {
    match rank {
        StringRank::Blob => Some((TextKind::Text, BytesKind::Blob)),
        StringRank::MediumBlob => Some((TextKind::MediumText, BytesKind::MediumBlob)),
        StringRank::LongBlob => Some((TextKind::LongText, BytesKind::LongBlob)),
        _ => None,
    }
}
