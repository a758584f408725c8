//! Columns of ENUM, SET, YEAR and BIT, which an expression sees as text or as a number, and of numbers with attributes,
//! which it sees without them.
//!
//! ```text
//!   operand   CAST(column AS its operand type)    comparisons, functions, arithmetic
//!   bare      column                              select list, GROUP BY, ORDER BY
//! ```
//!
//! A column is bound as an operand ([`as_operand`]). Where its own values are wanted, the cast is taken off again
//! ([`Binder::bare`]). A conversion starts from the column, too, if the operand has lost what it needs: the position of
//! an ENUM, the digits of a YEAR, the bytes of a BIT.

use super::{binder::Binder, expr::literal::bytes_as_number};
use crate::typing::{Derivation, Item, JSON_TEXT};
use muster_algebra::{CompareOp, Expr};
use muster_types::{
    BytesKind, MemberList, SqlType, TextKind, Value,
    store::{StoreFault, StoredType, Unfit, enum_text, store},
};

/// The item as the operand of an expression.
pub(super) fn as_operand(item: Item) -> Item {
    let ty = item.ty.operand_type();
    if ty == item.ty {
        return item;
    }
    Item::new(Expr::Cast { arg: Box::new(item.expr), ty }, ty)
}

impl Binder<'_> {
    /// The type of the column that the item is an operand of, if that is another than the operand's.
    pub(super) fn declared_type(&self, item: &Item) -> Option<SqlType> {
        let Expr::Cast { arg, ty } = &item.expr else { return None };
        let declared = self.type_of(arg);
        (declared != *ty && declared.operand_type() == *ty && item.ty == *ty).then_some(declared)
    }

    /// The item with the values of the column itself.
    pub(super) fn bare(&self, item: Item) -> Item {
        match (self.declared_type(&item), item.expr) {
            (Some(ty), Expr::Cast { arg, .. }) => {
                Item { derivation: item.derivation, decimals: item.decimals, ..Item::new(*arg, ty) }
            }
            (_, expr) => Item { expr, ..item },
        }
    }

    /// The item with the values of the column itself, without what ZEROFILL shows of them: what is no column has no
    /// such attribute.
    pub(super) fn bare_unfilled(&self, item: Item) -> Item {
        match self.declared_type(&item) {
            Some(SqlType::Unsigned(number)) if number.zerofill.is_some() => {
                let ty = number.unfilled();
                let expr = Expr::Cast { arg: Box::new(self.bare(item.clone()).expr), ty };
                Item { expr, ty, ..item }
            }
            _ => self.bare(item),
        }
    }

    /// The item as a part of a JSON document: the values of a BIT column as its bits.
    pub(super) fn with_bits(&self, item: Item) -> Item {
        match self.declared_type(&item) {
            Some(SqlType::Bit { .. }) => self.bare(item),
            _ => item,
        }
    }

    /// A JSON document as its text; other values as they are.
    pub(super) fn json_as_text(&mut self, item: Item) -> Item {
        match item.ty {
            SqlType::Json => Item { derivation: Derivation::Implicit, ..self.cast_to(item, JSON_TEXT) },
            _ => item,
        }
    }

    /// A JSON document as the text or the number that it is compared as by BETWEEN, GREATEST and LEAST beside `others`.
    pub(super) fn json_as_native(&mut self, item: Item, others: &[SqlType]) -> Item {
        match item.ty {
            SqlType::Json if others.iter().any(SqlType::is_numeric) => self.convert(item, SqlType::Double),
            _ => self.json_as_text(item),
        }
    }

    /// Both sides of a comparison as JSON if one of them is.
    pub(super) fn json_alike(&mut self, l: Item, r: Item) -> Option<(Item, Item)> {
        let is_json = |item: &Item| item.ty == SqlType::Json;
        (is_json(&l) || is_json(&r)).then(|| (self.convert(l, SqlType::Json), self.convert(r, SqlType::Json)))
    }

    /// The item as a value for a column of type `ty`: the number that the column has, if it is of the same type or a
    /// number; the text of a YEAR for a text, the bytes of a BIT for a BLOB.
    pub(super) fn for_column(&mut self, item: Item, ty: SqlType) -> Item {
        let declared = match self.declared_type(&item) {
            Some(declared) => declared,
            // A number is no member that another ENUM column has.
            None if matches!(ty, SqlType::Enum(_)) && item.ty.is_integer() && item.ty.is_unsigned() => {
                return self.convert(item, SqlType::decimal(20, 0));
            }
            None => return item,
        };
        let is_set = matches!(declared, SqlType::Enum(_) | SqlType::Set(_));
        if declared == ty
            || is_set && (ty.stored_type().is_numeric() || matches!(ty, SqlType::Bit { .. } | SqlType::Year))
        {
            return self.bare(item);
        }
        match (declared, ty) {
            (SqlType::Enum(from), SqlType::Enum(to)) => self.member_of_other(item, from, to),
            (SqlType::Year, SqlType::Set(_)) => self.bare(item),
            (SqlType::Year, SqlType::Text { .. } | SqlType::Bytes { .. } | SqlType::Enum(_)) => {
                let text = SqlType::varchar(4, self.default_collation());
                self.convert(item, text)
            }
            (
                SqlType::Bit { .. },
                SqlType::Text { kind: TextKind::Char | TextKind::VarChar, .. }
                | SqlType::Bytes { kind: BytesKind::Binary | BytesKind::VarBinary, .. },
            ) => self.no_operand(item),
            // MySQL copies a BIT to a BLOB or TEXT as its bytes (`Field_blob::store`).
            (SqlType::Bit { .. }, SqlType::Text { .. } | SqlType::Bytes { .. }) => {
                self.convert(item, SqlType::Bytes { kind: BytesKind::VarBinary, length: 8 })
            }
            // The digits of a number are copied to a BLOB or TEXT as its column shows them.
            (SqlType::Unsigned(number), SqlType::Text { .. } | SqlType::Bytes { .. })
                if number.zerofill.is_some() && ty.is_long() =>
            {
                self.convert_to_text(item, self.default_collation())
            }
            _ => item,
        }
    }

    /// The number that the member of an ENUM column has in another ENUM, the error value as itself (MySQL:
    /// `field_conv`); a number that the other does not have, if the member is none of its own.
    fn member_of_other(&self, item: Item, from: MemberList, to: MemberList) -> Item {
        let ty = SqlType::BIGINT_UNSIGNED;
        let number = Item::new(Expr::Cast { arg: Box::new(self.bare(item).expr), ty }, ty);
        let literal = |number: u64| Expr::literal(Value::UInt(number), ty);
        let others = (1u64..).zip(from.names()).filter_map(|(old, member)| {
            let new = enum_text(member.as_bytes(), to).unwrap_or(to.names().len() as u64 + 1);
            (new != old).then(|| (Expr::eq(number.expr.clone(), literal(old)), literal(new)))
        });
        let branches: Vec<(Expr, Expr)> = others.collect();
        match branches.is_empty() {
            true => number,
            false => Item::new(Expr::Case { branches, otherwise: Some(Box::new(number.expr)), ty }, ty),
        }
    }

    /// The item where a text or a date is wanted: the values of a BIT column as their bytes.
    pub(super) fn bits_as_bytes(&mut self, item: Item) -> Item {
        match self.declared_type(&item) {
            // MySQL declares as many bytes as there are bits.
            Some(SqlType::Bit { width }) => {
                let bytes = SqlType::Bytes { kind: BytesKind::VarBinary, length: width.into() };
                Item { derivation: Derivation::Implicit, ..self.convert(item, bytes) }
            }
            _ => item,
        }
    }

    /// The item where the digits of a number are wanted as a text: the values of a BIT column as numbers.
    pub(super) fn bits_as_digits(&self, item: Item) -> Item {
        match self.declared_type(&item) {
            Some(SqlType::Bit { .. }) => self.no_operand(item),
            _ => item,
        }
    }

    /// An item that a cast was written for: it is no longer the operand of a column, and is ordered as what it was cast
    /// to.
    pub(super) fn no_operand(&self, item: Item) -> Item {
        match self.declared_type(&item) {
            None => item,
            Some(_) => Item { expr: Expr::Cast { arg: Box::new(item.expr), ty: item.ty }, ..item },
        }
    }

    /// The item that a conversion to `ty` starts from: an ENUM or SET becomes a number by itself, a YEAR, BIT or
    /// ZEROFILL number a text.
    pub(super) fn declared_if_wanted(&self, item: Item, ty: SqlType) -> Item {
        let is_string = ty.is_text() || ty.is_bytes();
        let is_subquery = matches!(&item.expr, Expr::Cast { arg, .. } if matches!(**arg, Expr::Subquery(_)));
        let wanted = match self.declared_type(&item) {
            Some(SqlType::Enum(_) | SqlType::Set(_)) => ty.is_numeric() || ty == SqlType::Year,
            Some(SqlType::Year) => is_string,
            Some(SqlType::Bit { .. }) => is_string || ty.is_temporal(),
            Some(SqlType::Unsigned(number)) => is_string && number.zerofill.is_some() && !is_subquery,
            _ => false,
        };
        if wanted { self.bare(item) } else { item }
    }

    /// The sides of a comparison: columns of one type are compared as they are stored where only equality counts, and a
    /// constant beside a YEAR column is the year that the column would store (MySQL: `convert_constant_arg_to_field`).
    pub(super) fn beside_column(&self, op: CompareOp, l: Item, r: Item) -> (Item, Item) {
        let (left, right) = (self.declared_type(&l), self.declared_type(&r));
        match (left, right) {
            (Some(a), Some(b)) if a == b && is_equality(op) => (self.bare(l), self.bare(r)),
            (Some(SqlType::Year), None) => {
                let r = year_constant(r, l.ty);
                (l, r)
            }
            (None, Some(SqlType::Year)) => (year_constant(l, r.ty), r),
            _ => (l, r),
        }
    }
}

fn is_equality(op: CompareOp) -> bool {
    matches!(op, CompareOp::Eq | CompareOp::NotEq | CompareOp::NullSafeEq)
}

/// The constant as a YEAR column stores it, as a number of type `operand`: '70x' is 1970, 2001.4 is 2001. What the
/// column does not store stays as it is.
fn year_constant(item: Item, operand: SqlType) -> Item {
    stored_year(&item, operand).unwrap_or(item)
}

/// The same; `None` for what the column does not store.
pub(super) fn stored_year(item: &Item, operand: SqlType) -> Option<Item> {
    let number = item.hexadecimal.then(|| bytes_as_number(item.clone()));
    let value = match number.as_ref().unwrap_or(item).as_literal()? {
        Value::Null | Value::Bool(_) | Value::Time(_) | Value::Json(_) => return None,
        Value::Text(_) | Value::Bytes(_) if item.hexadecimal => return None,
        value => value,
    };
    match store(value, StoredType::new(SqlType::Year)) {
        Ok(year) | Err(Unfit { fault: StoreFault::Truncated, instead: Some(year) }) => {
            Some(Item::literal(year, operand))
        }
        Err(_) => None,
    }
}
