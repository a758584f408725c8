//! The value that the rows of a subquery give to the expression around it.

use super::members::{Members, Part};
use crate::{arrow_value::value_at, expr::compare::common_type};
use arrow_array::{ArrayRef, RecordBatch};
use muster_algebra::{CompareOp, Quantifier, SubqueryKind};
use muster_eval::compare::compare;
use muster_types::{
    Collation, Decimal, ErrorCode, Result, SqlError, SqlType, Value, cast_from,
    json::{self, JsonView},
};

/// The rows of one run, reduced to what decides.
pub struct Answer {
    kind: SubqueryKind,
    /// Place in the rows of each column, its type, and the type in which it is compared.
    outputs: Vec<(usize, SqlType, SqlType)>,
    left: Vec<SqlType>,
    /// Rows seen.
    rows: usize,
    scalar: Value,
    /// IN: the distinct rows.
    members: Members,
    /// ANY, ALL: the least and the greatest value, which decide every comparison.
    bounds: Option<(Value, Value)>,
    /// ANY, ALL: one of the values is NULL.
    has_null: bool,
}

impl Answer {
    pub fn new(kind: SubqueryKind, left: &[SqlType], outputs: &[(usize, SqlType)]) -> Answer {
        let outputs = outputs
            .iter()
            .enumerate()
            .map(|(i, (at, ty))| (*at, *ty, left.get(i).map_or(*ty, |l| common_type(*l, *ty))))
            .collect();
        Answer {
            kind,
            outputs,
            left: left.to_vec(),
            rows: 0,
            scalar: Value::Null,
            members: Members::default(),
            bounds: None,
            has_null: false,
        }
    }

    /// Takes more rows in; the bytes that this took.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<usize> {
        let mut grown = 0;
        for row in 0..batch.num_rows() {
            self.rows += 1;
            match &self.kind {
                SubqueryKind::Scalar => {
                    if self.rows > 1 {
                        return Err(SqlError::new(ErrorCode::SubqueryNo1Row, "Subquery returns more than 1 row"));
                    }
                    let at = self.outputs.first().map_or(0, |o| o.0);
                    self.scalar = value_at(batch.column(at).as_ref(), row)?;
                }
                SubqueryKind::Exists { .. } | SubqueryKind::Rows => {}
                SubqueryKind::In { .. } => grown += self.add_member(batch, row)?,
                SubqueryKind::Compare { op, quantifier, .. } => {
                    if is_membership(*op, *quantifier) {
                        grown += self.add_member(batch, row)?;
                    } else {
                        self.widen(batch, row)?;
                    }
                }
            }
        }
        Ok(grown)
    }

    fn add_member(&mut self, batch: &RecordBatch, row: usize) -> Result<usize> {
        let mut parts = Vec::with_capacity(self.outputs.len());
        for (at, ty, compared) in &self.outputs {
            parts.push(canonical(&value_at(batch.column(*at).as_ref(), row)?, *ty, *compared));
        }
        let bytes = parts.iter().map(|p| p.as_ref().map_or(0, |p| p.len()) + size_of::<Part>()).sum::<usize>();
        Ok(if self.members.add(parts) { bytes } else { 0 })
    }

    fn widen(&mut self, batch: &RecordBatch, row: usize) -> Result<()> {
        let Some((at, ty, compared)) = self.outputs.first() else { return Ok(()) };
        let value = value_at(batch.column(*at).as_ref(), row)?;
        if value.is_null() {
            self.has_null = true;
            return Ok(());
        }
        let value = cast_from(&value, Some(*ty), *compared).0;
        let collation = compared.collation().unwrap_or(Collation::DEFAULT);
        let less = |a: &Value, b: &Value| compare(CompareOp::Lt, a, b, collation) == Value::Bool(true);
        self.bounds = Some(match self.bounds.take() {
            None => (value.clone(), value),
            Some((least, greatest)) if less(&value, &least) => (value, greatest),
            Some((least, greatest)) if less(&greatest, &value) => (least, value),
            Some(same) => same,
        });
        Ok(())
    }

    /// The expression's value for a row of the input; `left`: its left side.
    pub fn of_row(&self, left: &[ArrayRef], row: usize) -> Result<Value> {
        Ok(match &self.kind {
            SubqueryKind::Scalar | SubqueryKind::Rows => self.scalar.clone(),
            SubqueryKind::Exists { negated } => Value::Bool((self.rows > 0) != *negated),
            SubqueryKind::In { negated, .. } => negate_if(*negated, self.contains(left, row)?),
            SubqueryKind::Compare { op, quantifier, .. } if is_membership(*op, *quantifier) => {
                negate_if(*op == CompareOp::NotEq, self.contains(left, row)?)
            }
            SubqueryKind::Compare { op, quantifier, .. } => self.quantified(*op, *quantifier, left, row)?,
        })
    }

    fn contains(&self, left: &[ArrayRef], row: usize) -> Result<Option<bool>> {
        let mut parts = Vec::with_capacity(left.len());
        for ((array, ty), (_, _, compared)) in left.iter().zip(&self.left).zip(&self.outputs) {
            parts.push(canonical(&value_at(array.as_ref(), row)?, *ty, *compared));
        }
        Ok(self.members.contain(&parts))
    }

    fn quantified(&self, op: CompareOp, quantifier: Quantifier, left: &[ArrayRef], row: usize) -> Result<Value> {
        let all = quantifier == Quantifier::All;
        if self.rows == 0 {
            return Ok(Value::Bool(all));
        }
        let (Some(array), Some(ty), Some((_, _, compared))) = (left.first(), self.left.first(), self.outputs.first())
        else {
            return Err(SqlError::internal("quantified comparison without a left side"));
        };
        let value = cast_from(&value_at(array.as_ref(), row)?, Some(*ty), *compared).0;
        let collation = compared.collation().unwrap_or(Collation::DEFAULT);
        let mut unknown = self.has_null;
        if let Some((least, greatest)) = &self.bounds {
            for bound in [least, greatest] {
                match compare(op, &value, bound, collation) {
                    Value::Bool(holds) if holds != all => return Ok(Value::Bool(holds)),
                    Value::Bool(_) => {}
                    _ => unknown = true,
                }
            }
        }
        Ok(if unknown { Value::Null } else { Value::Bool(all) })
    }
}

/// `= ANY` is IN, `<> ALL` is NOT IN.
fn is_membership(op: CompareOp, quantifier: Quantifier) -> bool {
    matches!((op, quantifier), (CompareOp::Eq, Quantifier::Any) | (CompareOp::NotEq, Quantifier::All))
}

fn negate_if(negated: bool, truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, |t| Value::Bool(t != negated))
}

/// Bytes that are equal exactly if the values are, compared as `compared`; `None` for NULL.
fn canonical(value: &Value, ty: SqlType, compared: SqlType) -> Part {
    let decimal = |d: Decimal| {
        let shortest = d.without_zeros();
        let mut bytes = shortest.unscaled().to_le_bytes().to_vec();
        bytes.push(shortest.scale);
        bytes
    };
    let number = |unscaled: i128, scale: u8| decimal(Decimal::new(unscaled, scale));
    let exact = matches!(compared, SqlType::Int { .. } | SqlType::Bool | SqlType::Decimal { .. });
    Some(
        match value {
            Value::Null => return None,
            Value::Bool(b) if exact => number(*b as i128, 0),
            Value::Int(i) if exact => number(*i as i128, 0),
            Value::UInt(u) if exact => number(*u as i128, 0),
            Value::Decimal(d) if exact => decimal(*d),
            other => match cast_from(other, Some(ty), compared).0 {
                Value::Null => return None,
                Value::Float(x) => (x as f64 + 0.0).to_bits().to_le_bytes().to_vec(),
                Value::Double(x) => (x + 0.0).to_bits().to_le_bytes().to_vec(),
                Value::Date(d) => d.to_le_bytes().to_vec(),
                Value::DateTime(t) | Value::Time(t) => t.to_le_bytes().to_vec(),
                Value::Text(text) => compared.collation().unwrap_or(Collation::DEFAULT).sort_key(&text),
                Value::Bytes(bytes) => bytes,
                Value::Json(document) => json::group_key(JsonView::new(&document)),
                Value::Bool(b) => number(b as i128, 0),
                Value::Int(i) => number(i as i128, 0),
                Value::UInt(u) => number(u as i128, 0),
                Value::Decimal(d) => decimal(d),
            },
        }
        .into(),
    )
}
