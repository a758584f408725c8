//! Which range of an index a statement's conditions leave, for values that are not known yet.

use super::plan::Shape;
use muster_algebra::{CompareOp, Expr, KeyPart, TableDef};
use muster_optimizer::{exact_value, is_lossless_cast};
use muster_types::{KeyRange, SqlType, Value};
use std::ops::Bound;

/// An expression without columns whose value is a part of a key.
#[derive(Debug, Clone)]
pub struct KeyConstant {
    pub expr: Expr,
    /// Its type, and that of the part's column.
    pub from: SqlType,
    pub to: SqlType,
}

/// One end of the range of the part behind those that are equal to something.
#[derive(Debug, Clone)]
pub struct KeyEnd {
    pub constant: KeyConstant,
    pub inclusive: bool,
}

/// A range of an index.
#[derive(Debug, Clone)]
pub struct KeyAccess {
    pub index: usize,
    /// True if rows are fetched from the clustered index for the entries of another.
    pub whole_rows: bool,
    /// Values of the leading parts.
    pub equal: Vec<KeyConstant>,
    /// Bounds of the next part, in the order of the key.
    pub lower: Option<KeyEnd>,
    pub upper: Option<KeyEnd>,
    /// True if NULLs, which compare with nothing, stand at that end of the part and are left out.
    pub above_nulls: bool,
    pub below_nulls: bool,
    /// True if the range holds one entry at most.
    pub single: bool,
    /// For each condition: whether it holds for every row of the range.
    pub implied: Vec<bool>,
}

/// A comparison of a column with a constant.
struct Comparison<'a> {
    column: usize,
    op: CompareOp,
    constant: &'a Expr,
}

/// What the range of keys is to be when a value is put in.
#[derive(Debug, PartialEq)]
pub enum KeyValue {
    Value(Value),
    /// No row compares with NULL.
    Null,
    /// The column cannot hold it: whoever knows how such values compare has to see to it.
    Unknown,
}

impl KeyConstant {
    /// The key's value for a value of the expression.
    pub fn key_value(&self, value: &Value) -> KeyValue {
        if value.is_null() {
            return KeyValue::Null;
        }
        exact_value(value, self.from, self.to).map_or(KeyValue::Unknown, KeyValue::Value)
    }
}

impl KeyAccess {
    /// The range of `index` that the conditions of a shape leave; `None` if they leave all of it.
    pub fn of(shape: &Shape, index: usize) -> Option<KeyAccess> {
        let table = &*shape.table;
        let comparisons: Vec<Option<Comparison>> = shape.filter.iter().map(|e| comparison(e, table)).collect();
        let (equal_ops, lower_ops, upper_ops) =
            ([CompareOp::Eq], [CompareOp::Gt, CompareOp::GtEq], [CompareOp::Lt, CompareOp::LtEq]);
        let find = |part: &KeyPart, ops: &[CompareOp]| {
            let fits = |c: &Comparison| c.column == part.column && ops.contains(&c.op);
            comparisons.iter().position(|c| c.as_ref().is_some_and(fits))
        };
        let mut access = KeyAccess {
            index,
            whole_rows: false,
            equal: Vec::new(),
            lower: None,
            upper: None,
            above_nulls: false,
            below_nulls: false,
            single: false,
            implied: vec![false; shape.filter.len()],
        };
        let parts = table.key_parts(index);
        for part in &parts {
            let Some(at) = find(part, &equal_ops) else { break };
            access.equal.push(constant(comparisons[at].as_ref()?, table));
            access.implied[at] = is_exact(part, table);
        }
        let declared = table.indexes[index].parts.len();
        let whole = table.indexes[index].parts.iter().zip(&parts).all(|(_, part)| part.prefix.is_none());
        access.single = declared > 0 && table.indexes[index].unique && access.equal.len() >= declared && whole;
        if let Some(part) = parts.get(access.equal.len()) {
            let (least, greatest) = (find(part, &lower_ops), find(part, &upper_ops));
            let end = |at: usize| {
                let comparison = comparisons[at].as_ref()?;
                let inclusive = matches!(comparison.op, CompareOp::GtEq | CompareOp::LtEq);
                Some(KeyEnd { constant: constant(comparison, table), inclusive })
            };
            for at in [least, greatest].into_iter().flatten() {
                access.implied[at] = is_exact(part, table);
            }
            if least.is_none() && greatest.is_some() && table.columns[part.column].nullable {
                (access.above_nulls, access.below_nulls) = (!part.descending, part.descending);
            }
            let (least, greatest) = (least.and_then(end), greatest.and_then(end));
            (access.lower, access.upper) = if part.descending { (greatest, least) } else { (least, greatest) };
        }
        if access.equal.is_empty() && access.lower.is_none() && access.upper.is_none() {
            return None;
        }
        let filtered = shape.filter.iter().flat_map(Expr::columns).map(|id| id.0 as usize);
        access.whole_rows =
            index > 0 && shape.columns().into_iter().chain(filtered).any(|c| !table.index_has_column(index, c));
        Some(access)
    }

    /// The range for values of the constants, which `value` gives. Errors with what is not a value.
    pub fn range(&self, mut value: impl FnMut(&KeyConstant) -> KeyValue) -> Result<KeyRange, KeyValue> {
        let mut value = |constant: &KeyConstant| match value(constant) {
            KeyValue::Value(value) => Ok(value),
            other => Err(other),
        };
        let equal: Vec<Value> = self.equal.iter().map(&mut value).collect::<Result<_, _>>()?;
        let mut end = |end: &Option<KeyEnd>, is_next_to_nulls: bool| {
            Ok::<_, KeyValue>(match end {
                None if is_next_to_nulls => Bound::Excluded(equal.iter().cloned().chain([Value::Null]).collect()),
                None if equal.is_empty() => Bound::Unbounded,
                None => Bound::Included(equal.clone()),
                Some(end) => {
                    let mut values = equal.clone();
                    values.push(value(&end.constant)?);
                    if end.inclusive { Bound::Included(values) } else { Bound::Excluded(values) }
                }
            })
        };
        Ok(KeyRange { lower: end(&self.lower, self.above_nulls)?, upper: end(&self.upper, self.below_nulls)? })
    }
}

/// Returns true if a range of the part's values holds exactly the rows that compare so.
fn is_exact(part: &KeyPart, table: &TableDef) -> bool {
    part.prefix.is_none() && table.columns[part.column].ty.is_integer()
}

fn constant(comparison: &Comparison<'_>, table: &TableDef) -> KeyConstant {
    let to = table.columns[comparison.column].ty;
    KeyConstant { expr: comparison.constant.clone(), from: type_of(comparison.constant).unwrap_or(to), to }
}

/// The condition as a comparison of a column, or of one that a cast keeps as it is, with something constant.
fn comparison<'a>(expr: &'a Expr, table: &TableDef) -> Option<Comparison<'a>> {
    let Expr::Compare { op, left, right } = expr else { return None };
    let column = |expr: &Expr| match expr {
        Expr::Column(id) => Some(id.0 as usize),
        Expr::Cast { arg, ty } => match **arg {
            Expr::Column(id) => is_lossless_cast(table.columns[id.0 as usize].ty, *ty).then_some(id.0 as usize),
            _ => None,
        },
        _ => None,
    };
    let (column, op, constant) = match column(left) {
        Some(column) => (column, *op, &**right),
        None => (column(right)?, mirrored(*op), &**left),
    };
    let from = type_of(constant).filter(|_| constant.columns().is_empty())?;
    // A literal that the column cannot hold never becomes a key.
    let is_usable = match constant {
        Expr::Literal { value, .. } => value.is_null() || exact_value(value, from, table.columns[column].ty).is_some(),
        _ => true,
    };
    is_usable.then_some(Comparison { column, op, constant })
}

fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::LtEq => CompareOp::GtEq,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::GtEq => CompareOp::LtEq,
        other => other,
    }
}

/// The type of the constants that keys are made from.
fn type_of(constant: &Expr) -> Option<SqlType> {
    match constant {
        Expr::Literal { ty, .. } | Expr::Parameter { ty, .. } | Expr::Cast { ty, .. } | Expr::Negate { ty, .. } => {
            Some(*ty)
        }
        _ => None,
    }
}
