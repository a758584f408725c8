//! Hashes of expressions and relations: equal ones have equal hashes, so that searching for an equal one takes one
//! comparison instead of as many as there are candidates.

use muster_algebra::{ColId, Expr, KeyRange, Rel, Value};
use std::collections::{HashMap, hash_map::Entry};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::mem::discriminant;
use std::ops::Bound;

/// Takes in a word with one multiplication, both halves of whose result count. It is several times as fast as the
/// hasher of the standard library, and no more predictable than that one with fixed keys.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.write_u64(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x2545_F491_4F6C_DD1D);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// Takes a hash for what it is.
#[derive(Default)]
struct HashItself(u64);

impl Hasher for HashItself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are hashes of 64 bits");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The hash of an expression.
pub fn of_expr(expr: &Expr) -> u64 {
    let mut hasher = WordHasher::default();
    add_expr(expr, &mut hasher);
    hasher.finish()
}

/// The hash of an expression whose columns have other numbers.
pub fn of_renamed(expr: &Expr, number: &dyn Fn(ColId) -> u32) -> u64 {
    let mut hasher = WordHasher::default();
    add_renamed(expr, &mut hasher, number);
    hasher.finish()
}

/// The hash of a list of expressions.
pub fn of_exprs(exprs: &[Expr]) -> u64 {
    let mut hasher = WordHasher::default();
    exprs.iter().for_each(|expr| add_expr(expr, &mut hasher));
    hasher.finish()
}

/// The hash of a relation with all its expressions.
pub fn of_rel(rel: &Rel) -> u64 {
    let mut hasher = WordHasher::default();
    add_rel(rel, &mut hasher);
    hasher.finish()
}

/// The hash of some ranges of an index.
pub fn of_ranges(ranges: &[KeyRange]) -> u64 {
    let mut hasher = WordHasher::default();
    for bound in ranges.iter().flat_map(|range| [&range.lower, &range.upper]) {
        discriminant(bound).hash(&mut hasher);
        if let Bound::Included(values) | Bound::Excluded(values) = bound {
            values.iter().for_each(|value| add_value(value, &mut hasher));
        }
    }
    hasher.finish()
}

fn add_expr(expr: &Expr, hasher: &mut WordHasher) {
    add_renamed(expr, hasher, &|id| id.0);
}

fn add_renamed(expr: &Expr, hasher: &mut WordHasher, number: &dyn Fn(ColId) -> u32) {
    discriminant(expr).hash(hasher);
    match expr {
        Expr::Column(id) => number(*id).hash(hasher),
        Expr::Literal { value, ty } => {
            add_value(value, hasher);
            ty.hash(hasher);
        }
        Expr::Cast { ty, .. } => ty.hash(hasher),
        Expr::IsNull { negated, .. } | Expr::InList { negated, .. } => negated.hash(hasher),
        Expr::IsTruth { truth, negated, .. } => (truth, negated).hash(hasher),
        Expr::Like { escape, negated, .. } => (escape, negated).hash(hasher),
        Expr::Case { branches, .. } => branches.len().hash(hasher),
        Expr::Compare { op, .. } => op.hash(hasher),
        Expr::Logic { op, .. } => op.hash(hasher),
        Expr::Arithmetic { op, .. } => op.hash(hasher),
        Expr::Call { function, .. } => function.hash(hasher),
        Expr::Subquery(q) => add_rel(&q.rel, hasher),
        _ => {}
    }
    let mut children = 0_usize;
    expr.for_each_child(&mut |child| {
        children += 1;
        add_renamed(child, hasher, number);
    });
    children.hash(hasher);
}

fn add_value(value: &Value, hasher: &mut WordHasher) {
    discriminant(value).hash(hasher);
    match value {
        // 1.0 is equal to 1.00, and 0.0 to -0.0.
        Value::Decimal(d) => {
            let shortest = d.without_zeros();
            (shortest.unscaled(), shortest.scale).hash(hasher);
        }
        Value::Float(x) => (x + 0.0).to_bits().hash(hasher),
        Value::Double(x) => (x + 0.0).to_bits().hash(hasher),
        Value::Null => {}
        Value::Bool(b) => b.hash(hasher),
        Value::Int(i) | Value::DateTime(i) | Value::Time(i) => i.hash(hasher),
        Value::UInt(u) => u.hash(hasher),
        Value::Date(d) => d.hash(hasher),
        Value::Text(text) => text.hash(hasher),
        Value::Bytes(bytes) | Value::Json(bytes) => bytes.hash(hasher),
    }
}

fn add_rel(rel: &Rel, hasher: &mut WordHasher) {
    discriminant(rel).hash(hasher);
    match rel {
        Rel::Get { table, columns, .. } => (table.id, columns).hash(hasher),
        Rel::Values { columns, rows } => (columns, rows.len()).hash(hasher),
        Rel::Project { exprs, .. } => exprs.iter().for_each(|(id, _)| id.hash(hasher)),
        Rel::Join { kind, .. } => kind.hash(hasher),
        Rel::Aggregate { group, aggregates, .. } => {
            group.hash(hasher);
            aggregates.iter().for_each(|(id, _)| id.hash(hasher));
        }
        Rel::Working { table, columns, .. } => (table, columns).hash(hasher),
        Rel::Recursive { recursion, .. } => (&recursion.seed, &recursion.columns).hash(hasher),
        Rel::Rollup { rollup, .. } => rollup.hash(hasher),
        Rel::Window { window, .. } => window.calls.iter().for_each(|(id, _)| id.hash(hasher)),
        Rel::Limit { offset, count, .. } => (offset, count).hash(hasher),
        Rel::Union { columns, .. } => columns.hash(hasher),
        Rel::Lateral { keeps, .. } => keeps.hash(hasher),
        Rel::JsonTable { table, keeps, .. } => (&table.outputs, keeps).hash(hasher),
        Rel::Filter { .. } | Rel::Sort { .. } => {}
    }
    rel.exprs().into_iter().for_each(|expr| add_expr(expr, hasher));
    rel.inputs().into_iter().for_each(|input| add_rel(input, hasher));
}

/// Removes every expression that is equal to one before it, but for those that may have another value each time.
pub fn remove_repeated(list: &mut Vec<Expr>) {
    if list.len() < 2 {
        return;
    }
    let mut known = ExprSet::default();
    known.by_hash.reserve(list.len());
    let is_kept: Vec<bool> = list.iter().map(|expr| known.insert(expr) || !expr.is_movable()).collect();
    let mut is_kept = is_kept.into_iter();
    list.retain(|_| is_kept.next().unwrap_or(true));
}

/// Adds those expressions to a list that are not in it, and those that may have another value each time.
pub fn extend_new(list: &mut Vec<Expr>, more: Vec<Expr>) {
    if more.is_empty() {
        return;
    }
    let mut known: ExprSet<'_> = list.iter().collect();
    let is_new: Vec<bool> = more.iter().map(|expr| known.insert(expr) || !expr.is_movable()).collect();
    list.extend(more.into_iter().zip(is_new).filter(|(_, is_new)| *is_new).map(|(expr, _)| expr));
}

/// Expressions that can be searched by value.
#[derive(Default)]
pub struct ExprSet<'a> {
    by_hash: HashMap<u64, Alike<'a>, BuildHasherDefault<HashItself>>,
}

/// Expressions with one hash: nearly always one.
struct Alike<'a> {
    first: &'a Expr,
    others: Vec<&'a Expr>,
}

impl Alike<'_> {
    fn contains(&self, expr: &Expr) -> bool {
        self.first == expr || self.others.contains(&expr)
    }
}

impl<'a> ExprSet<'a> {
    pub fn contains(&self, expr: &Expr) -> bool {
        self.by_hash.get(&of_expr(expr)).is_some_and(|alike| alike.contains(expr))
    }

    /// Adds an expression; returns false if it is there already.
    pub fn insert(&mut self, expr: &'a Expr) -> bool {
        match self.by_hash.entry(of_expr(expr)) {
            Entry::Vacant(place) => {
                place.insert(Alike { first: expr, others: Vec::new() });
                true
            }
            Entry::Occupied(alike) if alike.get().contains(expr) => false,
            Entry::Occupied(mut alike) => {
                alike.get_mut().others.push(expr);
                true
            }
        }
    }
}

impl<'a> FromIterator<&'a Expr> for ExprSet<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Expr>>(exprs: I) -> Self {
        let exprs = exprs.into_iter();
        let mut set = ExprSet::default();
        set.by_hash.reserve(exprs.size_hint().0);
        exprs.for_each(|expr| {
            set.insert(expr);
        });
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_algebra::ColId;
    use muster_types::{Decimal, SqlType};

    #[test]
    fn equal_values_have_equal_hashes() {
        let decimal = |unscaled, scale| Value::Decimal(Decimal::new(unscaled, scale));
        for (a, b) in [
            (decimal(10, 1), decimal(1, 0)),
            (Value::Double(0.0), Value::Double(-0.0)),
            (Value::Float(-0.0), Value::Float(0.0)),
        ] {
            let literal = |value: Value| Expr::literal(value, SqlType::Double);
            assert_eq!(literal(a.clone()), literal(b.clone()));
            assert_eq!(of_expr(&literal(a)), of_expr(&literal(b)));
        }
    }

    #[test]
    fn sets_tell_expressions_apart() {
        let exprs: Vec<Expr> = (0..100).map(|i| Expr::eq(Expr::Column(ColId(1)), Expr::int(i))).collect();
        let set: ExprSet<'_> = exprs.iter().collect();
        assert!(exprs.iter().all(|e| set.contains(e)));
        assert!(!set.contains(&Expr::eq(Expr::Column(ColId(2)), Expr::int(1))));
        let mut twice: Vec<Expr> = exprs.iter().chain(&exprs).cloned().collect();
        remove_repeated(&mut twice);
        assert_eq!(twice, exprs);
        let mut extended = exprs[..50].to_vec();
        extend_new(&mut extended, exprs[40..].iter().chain(&exprs[90..]).cloned().collect());
        assert_eq!(extended, exprs);
    }
}
