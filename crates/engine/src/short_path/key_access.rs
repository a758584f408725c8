//! Which range of an index a statement's conditions leave, for values that are not known yet.

use muster_algebra::{ColId, CompareOp, Expr, KeyPart, TableDef};
use muster_optimizer::{exact_value, is_lossless_cast};
use muster_types::{Collation, KeyRange, SqlType, Value, collation::LikePattern, prefix_end};
use std::ops::Bound;

/// Most ranges that `IN` lists of a statement make together.
const RANGES_MAX: usize = 256;

/// An expression over what is known before, whose value is a part of a key.
#[derive(Debug, Clone)]
pub struct KeyConstant {
    pub expr: Expr,
    /// Its type, and that of the part's column.
    pub from: SqlType,
    pub to: SqlType,
}

/// The values of a part of a key.
#[derive(Debug, Clone)]
pub enum KeyValues {
    One(KeyConstant),
    /// Those of an `IN` list, in any order.
    AnyOf(Vec<KeyConstant>),
}

/// One end of the range of the part behind those that are equal to something.
#[derive(Debug, Clone)]
pub struct KeyEnd {
    pub constant: KeyConstant,
    pub inclusive: bool,
}

/// Texts of the part behind those that are equal to something that a pattern matches: a range of those that begin as it
/// does.
#[derive(Debug, Clone)]
pub struct KeyPattern {
    pub pattern: KeyConstant,
    pub escape: Option<char>,
    pub collation: Collation,
}

/// A range of an index.
#[derive(Debug, Clone)]
pub struct KeyAccess {
    pub index: usize,
    /// True if rows are fetched from the clustered index for the entries of another.
    pub whole_rows: bool,
    /// Values of the leading parts.
    pub equal: Vec<KeyValues>,
    /// Bounds of the next part, in the order of the key.
    pub lower: Option<KeyEnd>,
    pub upper: Option<KeyEnd>,
    /// Instead of bounds.
    pub like: Option<KeyPattern>,
    /// True if NULLs, which compare with nothing, stand at that end of the part and are left out.
    pub above_nulls: bool,
    pub below_nulls: bool,
    /// True if there is one range, which holds one entry at most.
    pub single: bool,
    /// True if each range holds one entry at most.
    pub points: bool,
    /// For each condition: whether it holds for every row of the range.
    pub implied: Vec<bool>,
}

/// Conditions on one table, whose other sides are known before its rows are read.
pub struct Conditions<'a> {
    pub table: &'a TableDef,
    pub all: &'a [Expr],
    /// The position of a column in the table; `None`: it is none of the table's.
    pub position: &'a dyn Fn(ColId) -> Option<usize>,
    /// The type of a column that is known before: of a table that is read before.
    pub known: &'a dyn Fn(ColId) -> Option<SqlType>,
}

/// A column that is compared with something known.
struct Comparison<'a> {
    column: usize,
    with: ComparedWith<'a>,
}

enum ComparedWith<'a> {
    One(CompareOp, &'a Expr),
    /// `IN`.
    AnyOf(&'a [Expr]),
    /// The pattern of a `LIKE`, and its escape character.
    Like(&'a Expr, Option<char>),
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
    /// All of an index.
    pub fn all(index: usize, conditions: usize) -> KeyAccess {
        KeyAccess {
            index,
            whole_rows: false,
            equal: Vec::new(),
            lower: None,
            upper: None,
            like: None,
            above_nulls: false,
            below_nulls: false,
            single: false,
            points: false,
            implied: vec![false; conditions],
        }
    }

    /// The ranges of `index` that conditions leave; `None` if they leave all of it. `needed`: the columns that are
    /// wanted besides those of the conditions.
    pub fn of(conditions: &Conditions<'_>, index: usize, needed: &[usize]) -> Option<KeyAccess> {
        let table = conditions.table;
        let comparisons: Vec<Option<Comparison>> = conditions.all.iter().map(|e| conditions.comparison(e)).collect();
        let find = |part: &KeyPart, ops: &[CompareOp]| {
            let fits = |c: &Comparison| {
                c.column == part.column && matches!(&c.with, ComparedWith::One(op, _) if ops.contains(op))
            };
            comparisons.iter().position(|c| c.as_ref().is_some_and(fits))
        };
        let find_list = |part: &KeyPart| {
            let fits = |c: &Comparison| c.column == part.column && matches!(c.with, ComparedWith::AnyOf(_));
            comparisons.iter().position(|c| c.as_ref().is_some_and(fits))
        };
        let mut access = KeyAccess::all(index, conditions.all.len());
        let parts = table.key_parts(index);
        let (mut ranges, mut has_list) = (1, false);
        for part in &parts {
            let at = match find(part, &[CompareOp::Eq]) {
                Some(at) => at,
                None => match find_list(part) {
                    Some(at) => at,
                    None => break,
                },
            };
            let values = conditions.key_values(comparisons[at].as_ref()?)?;
            if let KeyValues::AnyOf(list) = &values {
                ranges *= list.len();
                has_list = true;
                if ranges > RANGES_MAX {
                    break;
                }
            }
            access.equal.push(values);
            access.implied[at] = is_exact(part, table);
        }
        let declared = table.indexes[index].parts.len();
        let whole = table.indexes[index].parts.iter().zip(&parts).all(|(_, part)| part.prefix.is_none());
        let is_named = declared > 0 && table.indexes[index].unique && access.equal.len() >= declared && whole;
        access.points = is_named;
        access.single = is_named && !has_list;
        if let Some(part) = parts.get(access.equal.len()) {
            let lower_ops = [CompareOp::Gt, CompareOp::GtEq];
            let upper_ops = [CompareOp::Lt, CompareOp::LtEq];
            let (least, greatest) = (find(part, &lower_ops), find(part, &upper_ops));
            let end = |at: usize| {
                let comparison = comparisons[at].as_ref()?;
                let ComparedWith::One(op, constant) = comparison.with else { return None };
                let inclusive = matches!(op, CompareOp::GtEq | CompareOp::LtEq);
                Some(KeyEnd { constant: conditions.constant(comparison.column, constant), inclusive })
            };
            for at in [least, greatest].into_iter().flatten() {
                access.implied[at] = is_exact(part, table);
            }
            if least.is_none() && greatest.is_some() && table.columns[part.column].nullable {
                (access.above_nulls, access.below_nulls) = (!part.descending, part.descending);
            }
            let (least, greatest) = (least.and_then(end), greatest.and_then(end));
            (access.lower, access.upper) = if part.descending { (greatest, least) } else { (least, greatest) };
            if access.lower.is_none() && access.upper.is_none() {
                access.like = conditions.pattern(part, comparisons.iter().flatten());
            }
        }
        if access.is_all() {
            return None;
        }
        access.read_rows_for(conditions, needed);
        Some(access)
    }

    /// Whether the rows come in an order of columns of the table (with true for those that descend), and so backwards;
    /// `None` if they do not.
    pub fn order(&self, table: &TableDef, order: &[(usize, bool)]) -> Option<bool> {
        if order.is_empty() {
            return Some(false);
        }
        if !table.has_primary_key() || self.equal.iter().any(|values| matches!(values, KeyValues::AnyOf(_))) {
            return None;
        }
        let parts = table.key_parts(self.index);
        let (equal, mut next) = parts.split_at(self.equal.len());
        let mut backwards = None;
        for (column, descending) in order {
            if equal.iter().any(|part| part.column == *column) {
                continue;
            }
            // Behind all parts of the key there is but one row.
            let Some((part, behind)) = next.split_first() else { continue };
            next = behind;
            let is_backwards = part.descending != *descending;
            let is_one_way = *backwards.get_or_insert(is_backwards) == is_backwards;
            if part.column != *column || part.prefix.is_some() || !is_one_way {
                return None;
            }
        }
        Some(backwards.unwrap_or(false))
    }

    /// Returns true if it is all of an index.
    pub fn is_all(&self) -> bool {
        self.equal.is_empty() && self.lower.is_none() && self.upper.is_none() && self.like.is_none()
    }

    /// Returns true if a value of the key is one of another table.
    pub fn mentions_columns(&self) -> bool {
        let equal = self.equal.iter().flat_map(|values| match values {
            KeyValues::One(constant) => std::slice::from_ref(constant),
            KeyValues::AnyOf(list) => list,
        });
        let ends = [&self.lower, &self.upper].into_iter().flatten().map(|end| &end.constant);
        equal.chain(ends).any(|constant| !constant.expr.columns().is_empty())
    }

    /// Says whether rows are fetched for the entries of the index.
    pub fn read_rows_for(&mut self, conditions: &Conditions<'_>, needed: &[usize]) {
        let filtered = conditions.all.iter().flat_map(Expr::columns).filter_map(|id| (conditions.position)(id));
        let lacks = |c: usize| !conditions.table.index_has_column(self.index, c);
        self.whole_rows = self.index > 0 && needed.iter().copied().chain(filtered).any(lacks);
    }

    /// The range for values of the constants, which `value` gives, if there is but one. Errors with what is not a
    /// value.
    pub fn range(&self, value: impl FnMut(&KeyConstant) -> KeyValue) -> Result<KeyRange, KeyValue> {
        self.ranges(value)?.pop().ok_or(KeyValue::Null)
    }

    /// The ranges for values of the constants, which `value` gives; they may be in any order and equal. Errors with
    /// what is not a value.
    pub fn ranges(&self, mut value: impl FnMut(&KeyConstant) -> KeyValue) -> Result<Vec<KeyRange>, KeyValue> {
        let mut value = |constant: &KeyConstant| match value(constant) {
            KeyValue::Value(value) => Ok(value),
            other => Err(other),
        };
        let mut starts: Vec<Vec<Value>> = vec![Vec::with_capacity(self.equal.len() + 1)];
        for values in &self.equal {
            match values {
                KeyValues::One(constant) => {
                    let value = value(constant)?;
                    starts.iter_mut().for_each(|start| start.push(value.clone()));
                }
                KeyValues::AnyOf(list) => {
                    let mut found = Vec::with_capacity(list.len());
                    for constant in list {
                        match value(constant) {
                            Ok(value) => found.push(value),
                            Err(KeyValue::Null) => {}
                            Err(other) => return Err(other),
                        }
                    }
                    let with = |start: &Vec<Value>| {
                        let start = start.clone();
                        found
                            .iter()
                            .map(move |v| start.iter().chain([v]).cloned().collect::<Vec<_>>())
                            .collect::<Vec<_>>()
                    };
                    starts = starts.iter().flat_map(with).collect();
                }
            }
        }
        if let Some(like) = &self.like {
            let (first, end) = like.bounds(value(&like.pattern)?).ok_or(KeyValue::Unknown)?;
            let with = |start: &Vec<Value>, bytes: &[u8]| {
                start.iter().cloned().chain([Value::Bytes(bytes.to_vec())]).collect::<Vec<_>>()
            };
            let range = |start: &Vec<Value>| KeyRange {
                lower: Bound::Included(with(start, &first)),
                upper: Bound::Excluded(with(start, &end)),
            };
            return Ok(starts.iter().map(range).collect());
        }
        let mut bound = |end: &Option<KeyEnd>| match end {
            None => Ok::<_, KeyValue>(None),
            Some(end) => Ok(Some((value(&end.constant)?, end.inclusive))),
        };
        let (lower, upper) = (bound(&self.lower)?, bound(&self.upper)?);
        let end = |equal: &Vec<Value>, end: &Option<(Value, bool)>, is_next_to_nulls: bool| match end {
            None if is_next_to_nulls => Bound::Excluded(equal.iter().cloned().chain([Value::Null]).collect()),
            None if equal.is_empty() => Bound::Unbounded,
            None => Bound::Included(equal.clone()),
            Some((value, inclusive)) => {
                let values = equal.iter().chain([value]).cloned().collect();
                if *inclusive { Bound::Included(values) } else { Bound::Excluded(values) }
            }
        };
        let range = |equal: &Vec<Value>| KeyRange {
            lower: end(equal, &lower, self.above_nulls),
            upper: end(equal, &upper, self.below_nulls),
        };
        Ok(starts.iter().map(range).collect())
    }
}

impl KeyPattern {
    /// The bytes that the sort keys of matching texts begin with, and the end of those that begin so. `None` if a
    /// matching text may begin with anything.
    fn bounds(&self, pattern: Value) -> Option<(Vec<u8>, Vec<u8>)> {
        let Value::Text(pattern) = pattern else { return None };
        let pattern = LikePattern::new(&pattern, self.escape, self.collation);
        let mut first = Vec::new();
        self.collation.append_common_sort_key(pattern.literal_prefix(), &mut first);
        let end = prefix_end(&first).filter(|_| !first.is_empty())?;
        Some((first, end))
    }
}

impl Conditions<'_> {
    /// The pattern that a part of a key is compared with. Parts that hold the beginnings of texts, or descend, have
    /// none.
    fn pattern<'a>(
        &self,
        part: &KeyPart,
        mut comparisons: impl Iterator<Item = &'a Comparison<'a>>,
    ) -> Option<KeyPattern> {
        let SqlType::Text { collation, .. } = self.table.columns[part.column].ty else { return None };
        let pattern = |comparison: &Comparison<'_>| match comparison.with {
            ComparedWith::Like(pattern, escape) if comparison.column == part.column => {
                Some(KeyPattern { pattern: self.constant(part.column, pattern), escape, collation })
            }
            _ => None,
        };
        comparisons.find_map(pattern).filter(|_| part.prefix.is_none() && !part.descending)
    }

    fn constant(&self, column: usize, constant: &Expr) -> KeyConstant {
        let to = self.table.columns[column].ty;
        KeyConstant { expr: constant.clone(), from: self.type_of(constant).unwrap_or(to), to }
    }

    /// `None` for a pattern.
    fn key_values(&self, comparison: &Comparison<'_>) -> Option<KeyValues> {
        let constant = |constant: &Expr| self.constant(comparison.column, constant);
        match comparison.with {
            ComparedWith::One(_, one) => Some(KeyValues::One(constant(one))),
            ComparedWith::AnyOf(list) => Some(KeyValues::AnyOf(list.iter().map(constant).collect())),
            ComparedWith::Like(..) => None,
        }
    }

    /// The column of the table that an expression is, or that a cast keeps as it is.
    fn column(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Column(id) => (self.position)(*id),
            Expr::Cast { arg, ty } => match **arg {
                Expr::Column(id) => {
                    let column = (self.position)(id)?;
                    is_lossless_cast(self.table.columns[column].ty, *ty).then_some(column)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The condition as a comparison of a column with something known.
    fn comparison<'a>(&self, expr: &'a Expr) -> Option<Comparison<'a>> {
        match expr {
            Expr::Compare { op, left, right } => {
                let (column, op, constant) = match self.column(left) {
                    Some(column) => (column, *op, &**right),
                    None => (self.column(right)?, mirrored(*op), &**left),
                };
                let with = ComparedWith::One(op, constant);
                self.is_usable(column, constant).then_some(Comparison { column, with })
            }
            Expr::InList { arg, list, negated: false } => {
                let column = self.column(arg)?;
                let with = ComparedWith::AnyOf(list);
                list.iter().all(|constant| self.is_usable(column, constant)).then_some(Comparison { column, with })
            }
            Expr::Like { arg, pattern, escape, negated: false } => {
                let Expr::Column(id) = **arg else { return None };
                let (column, with) = ((self.position)(id)?, ComparedWith::Like(pattern, *escape));
                (pattern.columns().is_empty() && self.is_usable(column, pattern)).then_some(Comparison { column, with })
            }
            _ => None,
        }
    }

    /// Returns true if an expression is known before, and may be a value of the column. A literal that the column
    /// cannot hold never becomes a key.
    fn is_usable(&self, column: usize, constant: &Expr) -> bool {
        let is_known = constant.columns().into_iter().all(|id| (self.known)(id).is_some());
        let Some(from) = self.type_of(constant).filter(|_| is_known) else { return false };
        match constant {
            Expr::Literal { value, .. } => {
                value.is_null() || exact_value(value, from, self.table.columns[column].ty).is_some()
            }
            _ => true,
        }
    }

    /// The type of what keys are made from.
    fn type_of(&self, constant: &Expr) -> Option<SqlType> {
        match constant {
            Expr::Column(id) => (self.known)(*id),
            Expr::Literal { ty, .. }
            | Expr::Parameter { ty, .. }
            | Expr::Cast { ty, .. }
            | Expr::Negate { ty, .. }
            | Expr::Call { ty, .. }
            | Expr::Arithmetic { ty, .. } => Some(*ty),
            _ => None,
        }
    }
}

/// Returns true if a range of the part's values holds exactly the rows that compare so.
fn is_exact(part: &KeyPart, table: &TableDef) -> bool {
    part.prefix.is_none() && table.columns[part.column].ty.is_integer()
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
