//! The form in which a column takes the value of an expression.
//!
//! MySQL stores a number, a date or a text by its own rule each (`Item::save_in_field`), and copies a column by the
//! rules for its type (`field_conv`). Both differ from a cast in these:
//!
//! ```text
//!   hexadecimal literal    a number for a numeric column, bytes for all others
//!   date or time           of a function: the number or the text of its type; of IF, MAX and their kin: the text;
//!                          of a column: the number of a date and a time of day for whole numbers
//!   text of another character set    its own bytes for a byte string
//! ```
//!
//! ALTER TABLE copies by a third set of rules ([`Binder::altered`]).

use crate::{
    bind::{binder::Binder, output::chooses},
    typing::{Derivation, Item, arithmetic::KEPT_DIGITS, bytes_of_length, text_type},
};
use muster_algebra::{ArithmeticOp, ColId, Expr, NumberReading, Rel, ScalarFunction};
use muster_types::{
    Decimal, SqlType, Value,
    charset::Charset,
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL_MAX_SCALE},
    store::hexadecimal,
};

impl Binder<'_> {
    /// The value of an expression for a column of this type. A column gets the digits that a quotient keeps beyond
    /// those that it shows.
    pub(super) fn given_value(&mut self, item: Item, ty: SqlType) -> Item {
        let is_column = matches!(item.expr, Expr::Column(_));
        let item = if ty.is_text() || ty.is_bytes() { self.as_shown(item) } else { item };
        let item = self.for_column(item.unrounded(KEPT_DIGITS), ty);
        match ty.stored_type().is_numeric() || ty == SqlType::Year {
            true if item.hexadecimal => match item.as_literal() {
                Some(Value::Bytes(bytes)) => {
                    let value = hexadecimal(bytes, ty);
                    let ty = super::values::value_type_of(&value, self);
                    Item::literal(value, ty)
                }
                _ => item,
            },
            true if !item.ty.is_temporal() => item,
            _ if is_computed(&item.expr) => self.computed_zero(item, ty),
            _ => self.taken_form(item, is_column, ty),
        }
    }

    /// The value of arithmetic for a column of this type. As a text a decimal that is zero has no digits behind the
    /// point, as many as its type may have (MySQL: `decimal_make_zero`); other values as they are.
    fn computed_zero(&mut self, item: Item, ty: SqlType) -> Item {
        let is_text = ty.is_text() || ty.is_bytes();
        let SqlType::Decimal { scale: 1.., .. } = item.ty else { return self.taken_form(item, false, ty) };
        if !is_text || item.as_literal().is_some() || item.expr.has_subquery() {
            return self.taken_form(item, false, ty);
        }
        let zero = Expr::literal(Value::Decimal(Decimal::new(0, 0)), item.ty);
        let is_zero = Expr::eq(item.expr.clone(), zero);
        let collation = ty.collation().unwrap_or(self.default_collation());
        let text = self.convert_to_text(item, collation);
        let branches = vec![(is_zero, Expr::literal(Value::Text("0".into()), text.ty))];
        Item {
            expr: Expr::Case { branches, otherwise: Some(Box::new(text.expr)), ty: text.ty },
            ..Item::new(Expr::null(text.ty), text.ty)
        }
    }

    /// The value of a column for a column of this type.
    pub(super) fn copied(&mut self, column: Item, ty: SqlType) -> Item {
        let item = self.for_column(column, ty);
        self.taken_form(item, true, ty)
    }

    /// The value of a column for the same column with this type (MySQL: `Copy_field`): a BIT is copied as a number, and
    /// a number comes into a column of dates, an ENUM and a SET as its text.
    pub(super) fn altered(&mut self, column: Item, ty: SqlType) -> Item {
        let declared = self.declared_type(&column).unwrap_or(column.ty);
        let is_number = declared.stored_type().is_numeric() || declared == SqlType::Year;
        let takes_text = ty.is_temporal() || matches!(ty, SqlType::Enum(_) | SqlType::Set(_));
        let is_string = |ty: SqlType| ty.is_text() || ty.is_bytes();
        match (declared, ty) {
            (SqlType::Enum(_), SqlType::Enum(_)) => self.copied(column, ty),
            (SqlType::Bit { .. }, _) if is_long_string(ty) => self.copied(column, ty),
            (SqlType::Bit { .. }, _) => self.no_operand(column),
            // The number of a text is read as that of an expression is.
            (from, _) if is_string(from) && matches!(ty.stored_type(), SqlType::Decimal { .. }) => {
                let reading = if is_long_string(from) { NumberReading::Result } else { NumberReading::Column };
                read_number(column, reading, SqlType::decimal(DECIMAL_MAX_PRECISION.into(), DECIMAL_MAX_SCALE.into()))
            }
            (from, SqlType::Bit { .. }) if is_long_string(from) => {
                read_number(column, NumberReading::Quiet, SqlType::BIGINT)
            }
            (SqlType::Unsigned(number), _) if number.zerofill.is_some() && is_string(ty) => {
                self.convert_to_text(column, self.default_collation())
            }
            // All digits, of which the column takes the first ones.
            (SqlType::Float | SqlType::Double, _) if is_string(ty) => {
                self.convert_to_text(column, self.default_collation())
            }
            (SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year, SqlType::Bit { .. }) => self.bare(column),
            (_, SqlType::Bit { .. }) if declared.stored_type().is_integer() => column,
            (_, SqlType::Bit { .. }) => as_integer(column),
            (_, SqlType::Year) if declared.is_temporal() => as_integer(column),
            (SqlType::Date, _) if ty.stored_type().is_integer() => column,
            _ if is_number && takes_text && declared != ty => self.convert_to_text(column, self.default_collation()),
            _ => self.copied(column, ty),
        }
    }

    /// The value of a query's column for a column of this type: what the query computes is the value of an expression.
    pub(super) fn copied_from(&mut self, query: &Rel, id: ColId, ty: SqlType) -> Item {
        let made = self.made_by(query, id);
        let is_number = ty.stored_type().is_numeric() || matches!(ty, SqlType::Year | SqlType::Bit { .. });
        if let Some((id, Expr::Literal { value: Value::Bytes(bytes), .. })) = &made
            && self.hexadecimal_columns.contains(id)
            && is_number
        {
            let value = hexadecimal(bytes, ty);
            let ty = super::values::value_type_of(&value, self);
            return Item::literal(value, ty);
        }
        let item = self.column_item(id);
        let item = self.for_column(item, ty);
        match made {
            Some((_, made)) if is_computed(&made) => self.computed_zero(item, ty),
            made => self.taken_form(item, made.is_none(), ty),
        }
    }

    /// The expression that makes a column of a query, with the column that it makes; `None` for a column of a table.
    fn made_by(&self, rel: &Rel, id: ColId) -> Option<(ColId, Expr)> {
        match rel {
            _ if self.stored_columns.contains_key(&id) => None,
            Rel::Sort { input, .. } | Rel::Limit { input, .. } | Rel::Filter { input, .. } => self.made_by(input, id),
            Rel::Project { input, exprs } => match exprs.iter().find(|(made, _)| *made == id) {
                // A function may give a column unchanged, which is a value of its own nevertheless.
                Some((made, Expr::Column(below)))
                    if self.columns.get(*made).origin.is_some() || self.columns.get(*below).origin.is_none() =>
                {
                    self.made_by(input, *below)
                }
                Some((made, expr)) => Some((*made, expr.clone())),
                None => None,
            },
            _ => None,
        }
    }

    /// A value that has its own type in the form that a column of type `ty` takes.
    fn taken_form(&mut self, item: Item, is_column: bool, ty: SqlType) -> Item {
        let takes_bytes = ty.is_bytes() || matches!(ty, SqlType::Bit { .. });
        match item.ty {
            SqlType::Float | SqlType::Double if is_long_string(ty) => {
                return self.float_in_long_string(item, is_column);
            }
            SqlType::Text { collation, .. } if takes_bytes && collation.character_set() != Charset::Utf8mb4 => {
                return self.encoded(item);
            }
            _ if !item.ty.is_temporal() => return item,
            _ => {}
        }
        let is_text_taken = ty.is_text() || takes_bytes || matches!(ty, SqlType::Enum(_) | SqlType::Set(_));
        let is_of_days = |ty: SqlType| ty.is_temporal() && !matches!(ty, SqlType::Time { .. });
        match ty {
            SqlType::Bit { .. } | SqlType::Year if is_column && !self.is_chosen(&item) => {
                let item = self.whole_seconds(item);
                self.moment_as_number(item)
            }
            _ if is_column && item.ty != SqlType::Date && ty.stored_type().is_integer() && !self.is_chosen(&item) => {
                self.whole_seconds(item)
            }
            _ if is_text_taken => self.moment_as_text(item, ty),
            _ if self.is_chosen(&item) && !(is_of_days(item.ty) && is_of_days(ty)) => self.moment_as_text(item, ty),
            _ if is_column && item.ty == SqlType::Date && ty.stored_type().is_integer() => self.moment_as_number(item),
            _ => item,
        }
    }

    /// The date and time of a column without its fraction of a second, where digits are cut and not rounded.
    fn whole_seconds(&mut self, item: Item) -> Item {
        let whole = match item.ty {
            SqlType::Time { .. } => SqlType::Time { fsp: 0 },
            _ => SqlType::DateTime { fsp: 0 },
        };
        self.with_fraction_cut(&item, whole).unwrap_or(item)
    }

    /// A floating-point number for a TEXT or BLOB, which gets the text that a column shows, and of other values the
    /// digits of the double (MySQL: `Field_blob::store`).
    fn float_in_long_string(&mut self, item: Item, is_column: bool) -> Item {
        match is_column || self.declared_type(&item).is_some() {
            true if item.decimals.is_some() => self.convert_to_text(item, self.default_collation()),
            true => item,
            false if item.ty == SqlType::Float => {
                Item::new(Expr::Cast { arg: Box::new(item.expr), ty: SqlType::Double }, SqlType::Double)
            }
            false => item,
        }
    }

    /// Returns true for one of several dates or times, as of MAX or IF.
    fn is_chosen(&self, item: &Item) -> bool {
        match &item.expr {
            Expr::Column(id) => self.columns.is_chosen(*id),
            expr => chooses(expr),
        }
    }

    /// A date or time as the text of its type, which has all digits behind the point.
    fn moment_as_text(&mut self, item: Item, ty: SqlType) -> Item {
        let collation = ty.collation().unwrap_or(self.default_collation());
        let text = text_type(item.ty, collation);
        self.convert(item, text)
    }

    /// The date or time of a column as a whole number; that of a date has the digits of a time of day.
    fn moment_as_number(&self, moment: Item) -> Item {
        let is_date = moment.ty == SqlType::Date;
        let number = as_integer(moment);
        if !is_date {
            return number;
        }
        let ty = number.ty;
        let factor = Box::new(Expr::literal(Value::Int(1_000_000), ty));
        Item::new(Expr::Arithmetic { op: ArithmeticOp::Mul, left: Box::new(number.expr), right: factor, ty }, ty)
    }

    /// A text as its bytes in its character set.
    fn encoded(&mut self, text: Item) -> Item {
        let bytes = match text.ty {
            SqlType::Text { length, collation, .. } => u64::from(length) * u64::from(collation.charset_max_bytes()),
            _ => 0,
        };
        let encoded = self.convert(text, bytes_of_length(bytes));
        Item { derivation: Derivation::Implicit, ..encoded }
    }
}

/// Returns true for arithmetic, whatever its result is rounded to.
fn is_computed(expr: &Expr) -> bool {
    match expr {
        Expr::Arithmetic { .. } | Expr::Negate { .. } => true,
        Expr::Cast { arg, .. } => is_computed(arg),
        _ => false,
    }
}

/// Returns true for a TEXT or BLOB.
fn is_long_string(ty: SqlType) -> bool {
    ty.is_long() && ty != SqlType::Json
}

/// The number of a text.
fn read_number(text: Item, reading: NumberReading, ty: SqlType) -> Item {
    let function = ScalarFunction::ReadNumber(reading);
    Item::new(Expr::Call { function, args: vec![text.expr], ty }, ty)
}

/// The value as CAST makes a whole number of it.
fn as_integer(item: Item) -> Item {
    let ty = SqlType::BIGINT;
    Item::new(Expr::Cast { arg: Box::new(item.expr), ty }, ty)
}
