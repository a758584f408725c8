//! What clients are told of values that are one of several, or that of another query: MySQL keeps the type of the
//! columns they come from (`Item::aggregate_type`, `Type_holder`), where an expression of Muster has that of an
//! operand.

use super::binder::Binder;
use crate::typing::{Item, length};
use muster_algebra::{ColId, Expr, ResultShape, ScalarFunction, SubqueryKind};
use muster_types::{BytesKind, NumberKind, SqlType, TextKind, Value};

/// Most characters of a text in a temporary table that is no BLOB (MySQL: `CONVERT_IF_BIGGER_TO_BLOB`).
const STORED_TEXT: u32 = 512;
/// Floating-point numbers below this one have all digits of an integer.
const WHOLE_DOUBLE: f64 = 1e15;
/// Characters of a computed double, and beside its digits behind the point.
const COMPUTED_DOUBLE: u32 = 23;
const DOUBLE_DIGITS: u32 = 17;

impl Binder<'_> {
    /// The shape of an expression that gives one of several values, or that of a subquery; nothing for others.
    pub(super) fn chosen_shape(&self, item: &Item) -> ResultShape {
        let sources = match without_casts(&item.expr) {
            query @ Expr::Subquery(_) => vec![query],
            _ => sources(&item.expr),
        };
        let types: Vec<SqlType> = sources.iter().map(|source| self.declared(source)).collect();
        let shape = self.shape_of_types(item.ty, &types);
        let is_query = matches!(sources[..], [Expr::Subquery(_)]);
        let long = || sources.iter().any(|source| self.is_long_column(source)).then(|| as_blob(item.ty)).flatten();
        let shape = match sources[..] {
            [Expr::Subquery(query)] if query.outputs.len() == 1 && !item.ty.is_numeric() => {
                let of_output = self.columns.shape(query.outputs[0]);
                ResultShape { unsigned: shape.unsigned || of_output.unsigned, decimals: of_output.decimals, ..shape }
            }
            _ => shape,
        };
        match types[..] {
            // The text of an ENUM is a CHAR.
            [SqlType::Enum(_) | SqlType::Set(_)] if is_query => ResultShape { ty: char_of(item.ty), ..shape },
            _ => ResultShape { ty: shape.ty.or_else(long), ..shape },
        }
    }

    /// The shape of a value of type `ty` that is one of values of these types.
    pub(super) fn shape_of_types(&self, ty: SqlType, types: &[SqlType]) -> ResultShape {
        let known: Vec<SqlType> = types.iter().copied().filter(|ty| *ty != SqlType::Null).collect();
        let Some(first) = known.first() else { return ResultShape::default() };
        if known.iter().all(|ty| *ty == SqlType::Year) {
            // NULLIF makes a byte string of it.
            if ty.is_bytes() {
                return ResultShape { unsigned: true, length: Some(4), ..ResultShape::default() };
            }
            return ResultShape { ty: Some(SqlType::Year), unsigned: true, length: Some(4), ..ResultShape::default() };
        }
        let is_unsigned = known.iter().all(|ty| matches!(ty, SqlType::Unsigned(_)));
        match (first, ty.stored_type()) {
            (SqlType::Unsigned(number), _) if known.len() == 1 && matches!(number.kind, NumberKind::Int(_)) => {
                let plain = number.plain();
                let length = Some(length::of_column(plain));
                ResultShape { ty: Some(plain), length, ..ResultShape::default() }
            }
            (_, SqlType::Decimal { precision, scale })
                if known.iter().all(|ty| matches!(ty, SqlType::Unsigned(_)) || ty.is_unsigned()) =>
            {
                let length = Some(u32::from(precision) + u32::from(scale > 0));
                ResultShape { unsigned: true, length, ..ResultShape::default() }
            }
            (_, SqlType::Double | SqlType::Float) => ResultShape { unsigned: is_unsigned, ..ResultShape::default() },
            _ => ResultShape::default(),
        }
    }

    /// The type of the column that an expression is the operand of, or of its values; that of a NULL is `Null`.
    pub(super) fn declared(&self, expr: &Expr) -> SqlType {
        match expr {
            Expr::Literal { value: Value::Null, .. } => SqlType::Null,
            Expr::Cast { arg, ty } => {
                let inner = self.declared(arg);
                if inner.operand_type() == *ty || inner == SqlType::Year { inner } else { *ty }
            }
            Expr::Subquery(query) if query.kind == SubqueryKind::Scalar => match query.outputs[..] {
                [output] => self.columns.ty(output),
                _ => self.type_of(expr),
            },
            expr => self.type_of(expr),
        }
    }

    /// Returns true for a TEXT or BLOB column of a table.
    fn is_long_column(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Column(id) => self.columns.get(*id).origin.is_some() && self.columns.ty(*id).is_long(),
            Expr::Cast { arg, .. } => self.is_long_column(arg),
            Expr::Subquery(query) => query.outputs.iter().any(|id| self.is_long_column(&Expr::Column(*id))),
            _ => false,
        }
    }

    /// The type of the smallest or largest of a column's texts, or of any of them, if that is a TEXT or BLOB.
    pub(super) fn long_type(&self, arg: &Expr, ty: SqlType) -> Option<SqlType> {
        self.is_long_column(arg).then(|| as_blob(ty)).flatten()
    }

    /// Characters of a double that is one of several values, or that of a subquery.
    pub(super) fn double_of(&self, expr: &Expr) -> Option<u32> {
        if !matches!(self.type_of(expr).stored_type(), SqlType::Double | SqlType::Float) {
            return None;
        }
        match expr {
            Expr::Subquery(_) => Some(self.number_length(expr)),
            Expr::Column(id) if self.columns.get(*id).origin.is_some() => Some(self.number_length(expr)),
            expr => (!number_sources(expr).is_empty()).then(|| self.number_length(expr)),
        }
    }

    /// Characters of a number that becomes a double.
    pub(super) fn number_length(&self, expr: &Expr) -> u32 {
        self.number_shape(expr).0
    }

    /// Characters of a number that becomes a double, and its digits behind the point if these are known.
    fn number_shape(&self, expr: &Expr) -> (u32, Option<u32>) {
        let of_double = |digits: Option<u32>| (digits.map_or(COMPUTED_DOUBLE, |digits| DOUBLE_DIGITS + digits), digits);
        match expr {
            Expr::Literal { value: Value::Null, .. } => (0, Some(0)),
            Expr::Column(id) => (self.column_number_length(*id), self.column_digits(*id)),
            Expr::Subquery(query) => match query.outputs[..] {
                [output] => (self.column_number_length(output), self.column_digits(output)),
                _ => (COMPUTED_DOUBLE, None),
            },
            Expr::Cast { arg, .. } if self.type_of(arg).stored_type().is_numeric() => self.number_shape(arg),
            // An integer that has become a floating-point number.
            Expr::Literal { value: Value::Double(x), .. } if x.fract() == 0.0 && x.abs() < WHOLE_DOUBLE => {
                ((x.abs() as u64).max(1).ilog10() + 2, Some(0))
            }
            expr if !number_sources(expr).is_empty() => {
                merged_numbers(number_sources(expr).into_iter().map(|source| self.number_shape(source)))
            }
            expr => match self.type_of(expr).stored_type() {
                SqlType::Float | SqlType::Double => of_double(self.double_digits(expr)),
                SqlType::Decimal { precision, scale } => {
                    (crate::typing::display_length(SqlType::Decimal { precision, scale }), Some(scale.into()))
                }
                _ => {
                    length::of_integer(expr, &self.columns).map_or((COMPUTED_DOUBLE, None), |length| (length, Some(0)))
                }
            },
        }
    }

    /// Characters of one of several numbers as a double.
    pub(super) fn merged_number_length(&self, sources: &[&Expr]) -> u32 {
        merged_numbers(sources.iter().map(|source| self.number_shape(source))).0
    }

    /// Digits behind the point of a floating-point number that is made of numbers with known ones.
    fn double_digits(&self, expr: &Expr) -> Option<u32> {
        match expr {
            Expr::Negate { arg, .. } => self.double_digits(arg),
            Expr::Call { function: ScalarFunction::Abs, args, .. } => self.double_digits(args.first()?),
            Expr::Cast { arg, .. } if self.type_of(arg).is_temporal() => Some(self.type_of(arg).fsp().into()),
            Expr::Cast { arg, .. } if self.type_of(arg).stored_type().is_numeric() => self.double_digits(arg),
            Expr::Cast { .. } => None,
            expr => match self.type_of(expr).stored_type() {
                SqlType::Float | SqlType::Double => match expr {
                    Expr::Column(id) => self.column_digits(*id),
                    _ => None,
                },
                ty => ty.decimal_digits().map(|(_, scale)| scale.into()),
            },
        }
    }

    /// Digits behind the point of a column of numbers, if they are known.
    fn column_digits(&self, id: ColId) -> Option<u32> {
        match self.columns.ty(id).stored_type() {
            SqlType::Float | SqlType::Double => self.columns.get(id).decimals.map(u32::from),
            SqlType::Null => Some(0),
            ty => ty.decimal_digits().map(|(_, scale)| scale.into()),
        }
    }

    fn column_number_length(&self, id: ColId) -> u32 {
        let (ty, shape) = (self.columns.ty(id), self.columns.shape(id));
        let is_stored = self.columns.get(id).origin.is_some();
        match ty.stored_type() {
            SqlType::Null => 0,
            // M of DOUBLE(M,D) is the length of a column.
            SqlType::Float | SqlType::Double if is_stored => {
                self.columns.length(id).unwrap_or_else(|| crate::typing::display_length(ty.stored_type()))
            }
            SqlType::Double => {
                let computed = || self.column_digits(id).map_or(COMPUTED_DOUBLE, |digits| DOUBLE_DIGITS + digits);
                shape.length.unwrap_or_else(computed)
            }
            SqlType::Int { .. } | SqlType::Bool => {
                length::of_integer(&Expr::Column(id), &self.columns).unwrap_or(COMPUTED_DOUBLE)
            }
            ty => shape.length.unwrap_or_else(|| crate::typing::display_length(ty)),
        }
    }

    /// The type of a text or byte string in the temporary table that window functions fill.
    pub(super) fn windowed_string(ty: SqlType) -> Option<SqlType> {
        match ty {
            SqlType::Text { length, collation, .. } => {
                let kind = if length > STORED_TEXT { TextKind::Text } else { TextKind::VarChar };
                Some(SqlType::Text { kind, length, collation })
            }
            SqlType::Bytes { length, .. } => {
                let kind = if length > STORED_TEXT { BytesKind::Blob } else { BytesKind::VarBinary };
                Some(SqlType::Bytes { kind, length })
            }
            _ => None,
        }
    }

    /// The shape of a text or byte string in the temporary table of a UNION.
    pub(super) fn union_string(&self, ty: SqlType, inputs: &[ColId]) -> ResultShape {
        let types: Vec<SqlType> =
            inputs.iter().map(|id| self.columns.ty(*id)).filter(|ty| *ty != SqlType::Null).collect();
        match (ty, types.first()) {
            (_, Some(first @ (SqlType::Enum(_) | SqlType::Set(_)))) if types.iter().all(|ty| ty == first) => {
                // Beside nothing but NULL it stays what it is.
                let is_alone = types.len() < inputs.len();
                let ty = if is_alone { *first } else { first.operand_type() };
                ResultShape { ty: Some(ty), ..ResultShape::default() }
            }
            (SqlType::Text { kind: TextKind::Char | TextKind::VarChar, length, collation }, _)
                if length > STORED_TEXT =>
            {
                let ty = Some(SqlType::Text { kind: TextKind::Text, length, collation });
                ResultShape { ty, ..ResultShape::default() }
            }
            (SqlType::Text { kind: TextKind::Char | TextKind::VarChar, .. }, _) => {
                let characters = |id: &ColId| match self.columns.ty(*id) {
                    SqlType::Unsigned(number) if matches!(number.kind, NumberKind::Int(_)) => {
                        length::of_column(number.plain())
                    }
                    SqlType::Int { .. } | SqlType::Bool => {
                        length::of_integer(&Expr::Column(*id), &self.columns).unwrap_or(0)
                    }
                    ty => crate::typing::display_length(ty),
                };
                let has_number = types.iter().any(|ty| !ty.is_text() && !ty.is_temporal());
                let length = inputs.iter().map(characters).max().filter(|_| has_number);
                ResultShape { length, ..ResultShape::default() }
            }
            (SqlType::Bytes { kind: BytesKind::VarBinary, length }, _) if are_fixed(&types) => {
                let ty = Some(SqlType::Bytes { kind: BytesKind::Binary, length });
                ResultShape { ty, ..ResultShape::default() }
            }
            (SqlType::Bytes { kind: BytesKind::VarBinary, length }, _) if types.iter().any(|ty| ty.is_long()) => {
                ResultShape { ty: Some(SqlType::Bytes { kind: BytesKind::Blob, length }), ..ResultShape::default() }
            }
            _ => ResultShape::default(),
        }
    }
}

/// Returns true if one of the types is BINARY, and the others are no strings of variable length.
fn are_fixed(types: &[SqlType]) -> bool {
    let is_binary = |ty: &SqlType| matches!(ty, SqlType::Bytes { kind: BytesKind::Binary, .. });
    let is_fixed = |ty: &SqlType| {
        is_binary(ty)
            || ty.is_temporal()
            || ty.stored_type().is_numeric()
            || matches!(ty, SqlType::Text { kind: TextKind::Char, .. })
    };
    types.iter().any(is_binary) && types.iter().all(is_fixed)
}

fn without_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { arg, .. } => without_casts(arg),
        expr => expr,
    }
}

/// The values of which an expression gives one.
fn sources(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Case { branches, otherwise, .. } => {
            branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()).collect()
        }
        Expr::Call { function: ScalarFunction::Coalesce, args, .. } => args.iter().collect(),
        Expr::Subquery(_) => vec![expr],
        _ => Vec::new(),
    }
}

/// The numbers of which an expression gives one.
fn number_sources(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Call { function: ScalarFunction::Greatest | ScalarFunction::Least, args, .. } => args.iter().collect(),
        Expr::Subquery(_) => Vec::new(),
        expr => sources(expr),
    }
}

/// Characters and digits behind the point of one of several numbers (MySQL: `Item::aggregate_float_properties`).
fn merged_numbers(shapes: impl Iterator<Item = (u32, Option<u32>)>) -> (u32, Option<u32>) {
    let shapes: Vec<(u32, Option<u32>)> = shapes.collect();
    let longest = shapes.iter().map(|(length, _)| *length).max().unwrap_or(COMPUTED_DOUBLE);
    let digits: Option<Vec<(u32, u32)>> = shapes.into_iter().map(|(length, digits)| Some((length, digits?))).collect();
    match digits {
        Some(known) => {
            let whole = known.iter().map(|(length, digits)| length.saturating_sub(*digits)).max().unwrap_or(0);
            let digits = known.iter().map(|(_, digits)| *digits).max().unwrap_or(0);
            (whole + digits, Some(digits))
        }
        None => (longest, None),
    }
}

/// A long text or byte string as what MySQL calls all columns of such types.
fn as_blob(ty: SqlType) -> Option<SqlType> {
    match ty {
        SqlType::Text { kind: TextKind::MediumText | TextKind::LongText, length, collation } => {
            Some(SqlType::Text { kind: TextKind::Text, length, collation })
        }
        SqlType::Bytes { kind: BytesKind::MediumBlob | BytesKind::LongBlob, length } => {
            Some(SqlType::Bytes { kind: BytesKind::Blob, length })
        }
        _ => None,
    }
}

fn char_of(ty: SqlType) -> Option<SqlType> {
    match ty {
        SqlType::Text { length, collation, .. } => Some(SqlType::Text { kind: TextKind::Char, length, collation }),
        _ => None,
    }
}
