//! The shapes that clients are told of the columns of temporary tables: those of a UNION, of window functions, of
//! derived tables.

use super::binder::Binder;
use crate::typing::{Item, length};
use muster_algebra::{ColId, ColumnOrigin, Expr, ResultShape};
use muster_types::{BytesKind, IntWidth, SqlType};

/// Characters of an integer of which nothing is known.
const INTEGER: u32 = 21;
/// Characters of the shortest integer that is a BIGINT in a temporary table.
const STORED_BIGINT: u32 = 10;

impl Binder<'_> {
    /// Says that a column is one of a temporary table, as UNION makes it, of the columns of these inputs.
    pub(super) fn set_stored(&mut self, id: ColId, name: &str, inputs: &[ColId]) {
        let ty = self.columns.ty(id);
        let whole = |input: &ColId| {
            let ty = self.columns.ty(*input);
            match ty {
                SqlType::Null => 0,
                SqlType::Year => 4,
                SqlType::Bit { width } => width.into(),
                SqlType::Int { .. } | SqlType::Bool => {
                    let length = length::of_integer(&Expr::Column(*input), &self.columns).unwrap_or(INTEGER);
                    length.saturating_sub(!ty.is_unsigned() as u32).max(1)
                }
                _ => ty.stored_type().decimal_digits().map_or(0, |(precision, scale)| u32::from(precision - scale)),
            }
        };
        let types: Vec<SqlType> = inputs.iter().map(|input| self.columns.ty(*input)).collect();
        let nullable = Some(inputs.iter().any(|input| self.is_column_nullable(*input)));
        let shape = match ty.is_text() || ty.is_bytes() {
            true => self.union_string(ty, inputs),
            false => self.shape_of_types(ty, &types),
        };
        let is_unsigned = |input: &ColId| {
            let ty = self.columns.ty(*input);
            ty == SqlType::Null
                || ty.is_unsigned()
                || matches!(ty, SqlType::Unsigned(_))
                || self.columns.shape(*input).unsigned
        };
        let is_fraction = matches!(ty.stored_type(), SqlType::Decimal { .. } | SqlType::Double);
        let unsigned = shape.unsigned || is_fraction && inputs.iter().all(is_unsigned);
        let shape = ResultShape { unsigned, ..shape };
        let length = shape.length.or_else(|| match ty.stored_type() {
            SqlType::Int { .. } => {
                let of = |input: &ColId| match self.columns.ty(*input) {
                    SqlType::Year => Some(4),
                    SqlType::Bit { width } => Some(width.into()),
                    SqlType::Unsigned(number) => Some(length::of_column(number.plain())),
                    _ => length::of_integer(&Expr::Column(*input), &self.columns),
                };
                inputs.iter().filter_map(of).max()
            }
            SqlType::Decimal { scale, .. } => {
                let digits = inputs.iter().map(whole).max().unwrap_or(1) + u32::from(scale);
                Some(digits + u32::from(!unsigned) + u32::from(scale > 0))
            }
            SqlType::Float | SqlType::Double => {
                let inputs: Vec<Expr> = inputs.iter().map(|input| Expr::Column(*input)).collect();
                Some(self.merged_number_length(&inputs.iter().collect::<Vec<_>>()))
            }
            _ => None,
        });
        if ty.is_integer() {
            self.columns.set_length(id, length);
        }
        self.columns.set_shape(id, ResultShape { length, nullable, stored: true, ..shape });
        self.columns.set_shown_origin(id, unnamed(name));
    }

    /// The type of a computed column of type `ty` in a temporary table, if that is another one: a short integer is an
    /// INT, others a BIGINT (MySQL: `Item::tmp_table_field_from_field_type`).
    fn stored_type(&self, id: ColId, ty: SqlType) -> Option<SqlType> {
        let unsigned = ty.is_unsigned();
        match ty {
            SqlType::Null => Some(SqlType::Bytes { kind: BytesKind::Binary, length: 0 }),
            SqlType::Bool => Some(SqlType::INT),
            SqlType::Int { width: IntWidth::Big, .. } => {
                let is_short = self.columns.length(id).is_some_and(|length| length < STORED_BIGINT);
                is_short.then_some(SqlType::Int { width: IntWidth::Int, unsigned })
            }
            _ => None,
        }
    }

    /// Says that a column is one that a window function fills in a temporary table, made of values of `sources`.
    pub(super) fn set_windowed(&mut self, id: ColId, sources: &[&Expr]) {
        let ty = self.columns.ty(id);
        if let (false, SqlType::Int { .. } | SqlType::Bool) = (sources.is_empty(), ty) {
            let known = sources.iter().filter(|source| self.type_of(source) != SqlType::Null);
            let length = known.filter_map(|source| length::of_integer(source, &self.columns)).max();
            self.columns.set_length(id, length);
        }
        let long = self.columns.length(id).is_some_and(|length| length >= STORED_BIGINT);
        let told = match ty {
            SqlType::Int { unsigned, .. } => {
                Some(SqlType::Int { width: if long { IntWidth::Big } else { IntWidth::Int }, unsigned })
            }
            _ => self.stored_type(id, ty).or_else(|| Binder::windowed_string(ty)),
        };
        let is_float = matches!(ty.stored_type(), SqlType::Float | SqlType::Double);
        let declared = |source: &&Expr| self.declared_or_own(&Item::new((*source).clone(), self.type_of(source)));
        let shape = match is_float {
            true => ResultShape::default(),
            false => {
                let types: Vec<SqlType> = sources.iter().map(declared).collect();
                let shape = self.shape_of_types(ty, &types);
                ResultShape { ty: None, length: shape.length.filter(|_| !ty.is_integer()), ..shape }
            }
        };
        let length = match is_float && !sources.is_empty() {
            true => Some(self.merged_number_length(sources)),
            false => shape.length,
        };
        self.columns.set_shape(id, ResultShape { ty: told, length, stored: true, ..shape });
    }

    /// Names the columns of a derived table for clients, as `stored` ones of a temporary table or as what they are.
    pub(super) fn set_derived(&mut self, columns: &[(ColId, String)], alias: &str, stored: bool) {
        for (id, name) in columns {
            let origin = self.columns.shown_origin(*id).or(self.columns.get(*id).origin.as_ref()).cloned();
            let origin = origin.unwrap_or_else(|| unnamed(name));
            let shown = ColumnOrigin { alias: alias.to_owned(), column: name.clone(), ..origin };
            self.columns.set_shown_origin(*id, shown);
            let shape = self.columns.shape(*id);
            if !stored && self.columns.ty(*id).is_temporal() {
                self.columns.set_shape(*id, ResultShape { in_client_charset: true, ..shape });
            }
            if stored && !shape.stored {
                let ty = match self.columns.get(*id).origin {
                    None => {
                        let ty = self.columns.ty(*id);
                        let of_string = || Binder::windowed_string(shape.ty.unwrap_or(ty));
                        self.stored_type(*id, ty).or_else(of_string).or(shape.ty)
                    }
                    Some(_) => shape.ty,
                };
                let unsigned = shape.unsigned && self.columns.ty(*id).is_numeric();
                let shape = ResultShape { stored, ty, unsigned, in_client_charset: false, ..shape };
                self.columns.set_shape(*id, shape);
            }
        }
    }
}

/// The origin of a column of no table.
pub(super) fn unnamed(name: &str) -> ColumnOrigin {
    ColumnOrigin { database: String::new(), table: String::new(), alias: String::new(), column: name.to_owned() }
}
