use super::*;
use crate::testing::builder::*;
use muster_algebra::{CompareOp, Rel};
use muster_types::Collation;
use std::sync::Arc;

/// Table t(id, a, b, c) with a key over (a, b, c).
fn table() -> (Arc<TableDef>, Vec<(ColId, usize)>, Vec<ColId>) {
    let mut t = Tables::new();
    let made = t.table_with("t", &["id", "a", "b", "c"], |def| def.indexes.push(index(1, "abc", &[1, 2, 3], false)));
    let Rel::Get { table, columns, .. } = made.rel else { unreachable!("a table") };
    (table, columns, made.ids)
}

fn ranges(conjuncts: &[Expr], index: usize) -> Option<(Vec<String>, Vec<bool>)> {
    let (table, columns, _) = table();
    let found =
        Domains::new(&table, &columns, conjuncts, &Options::default(), &KnownRanges::default()).ranges(index)?;
    Some((found.ranges.iter().map(text).collect(), found.implied.clone()))
}

/// `[1, 2..(1, 5)`: brackets for included bounds.
fn text(range: &KeyRange) -> String {
    let key = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
    let low = match &range.lower {
        Bound::Included(v) => format!("[{}", key(v)),
        Bound::Excluded(v) => format!("({}", key(v)),
        Bound::Unbounded => "-".into(),
    };
    let high = match &range.upper {
        Bound::Included(v) => format!("{}]", key(v)),
        Bound::Excluded(v) => format!("{})", key(v)),
        Bound::Unbounded => "-".into(),
    };
    format!("{low}..{high}")
}

#[test]
fn points_multiply_and_a_range_ends_the_key() {
    let (_, _, ids) = table();
    let (a, b, c) = (ids[1], ids[2], ids[3]);
    let (got, implied) = ranges(&[eq(a, 1), in_list(b, &[3, 2, 2]), lt(c, 5)], 1).unwrap();
    assert_eq!(got, ["(1 2 NULL..1 2 5)", "(1 3 NULL..1 3 5)"]);
    assert_eq!(implied, [true, true, true]);
}

#[test]
fn a_gap_in_the_key_leaves_the_rest_to_the_filter() {
    let (_, _, ids) = table();
    let (got, implied) = ranges(&[eq(ids[1], 1), lt(ids[3], 5)], 1).unwrap();
    assert_eq!(got, ["[1..1]"]);
    assert_eq!(implied, [true, false]);
    // Nothing but steering.
    assert_eq!(ranges(&[lt(ids[3], 5)], 1).unwrap(), (vec!["-..-".to_string()], vec![false]));
    assert_eq!(ranges(&[lt(ids[3], 5)], 0), None);
}

#[test]
fn conditions_on_one_part_intersect() {
    let (_, _, ids) = table();
    let a = ids[1];
    let ge = |n| compare(CompareOp::GtEq, a, n);
    assert_eq!(ranges(&[ge(3), lt(a, 7)], 1).unwrap().0, ["[3..7)"]);
    assert_eq!(ranges(&[ge(7), lt(a, 7)], 1).unwrap().0, Vec::<String>::new());
    assert_eq!(ranges(&[ge(3), in_list(a, &[1, 3, 9])], 1).unwrap().0, ["[3..3]", "[9..9]"]);
    assert_eq!(ranges(&[is_null(a)], 1).unwrap().0, ["[NULL..NULL]"]);
    assert_eq!(ranges(&[eq(a, Expr::null(SqlType::INT))], 1).unwrap().0, Vec::<String>::new());
}

#[test]
fn an_or_on_one_column_joins_what_touches() {
    let (_, _, ids) = table();
    let a = ids[1];
    let or = |args| Expr::Logic { op: LogicOp::Or, args };
    let between =
        |low: i64, high: i64| Expr::and(vec![compare(CompareOp::GtEq, a, low), compare(CompareOp::LtEq, a, high)]);
    assert_eq!(ranges(&[or(vec![between(5, 9), between(1, 3), between(2, 4)])], 1).unwrap().0, ["[1..4]", "[5..9]"]);
    assert_eq!(ranges(&[or(vec![eq(a, 1), eq(ids[2], 1)])], 1), None);
}

#[test]
fn constants_between_the_values_of_a_column() {
    let (_, _, ids) = table();
    let half =
        Expr::literal(Value::Decimal(muster_algebra::Decimal::new(15, 1)), SqlType::Decimal { precision: 2, scale: 1 });
    let none = Some((Vec::<String>::new(), vec![true]));
    assert_eq!(ranges(&[eq(ids[1], half.clone())], 1), none);
    assert_eq!(ranges(&[eq(ids[1], Expr::int(5_000_000_000))], 1), none);
    assert_eq!(ranges(&[lt(ids[1], half.clone())], 1).unwrap().0, ["(NULL..1]"]);
    let wide = |id: ColId| Expr::Cast { arg: Box::new(id.expr()), ty: SqlType::Decimal { precision: 20, scale: 1 } };
    assert_eq!(ranges(&[compare(CompareOp::GtEq, wide(ids[1]), half)], 1).unwrap().0, ["(1..-"]);
    assert_eq!(ranges(&[lt(wide(ids[1]), Expr::int(5_000_000_000))], 1).unwrap().0, ["(NULL..2147483647]"]);
}

#[test]
fn text_is_ordered_by_its_collation() {
    let mut t = Tables::new();
    let ty = SqlType::varchar(10, Collation::DEFAULT);
    let made = t.table_with("t", &["id", "name"], |def| {
        def.columns[1].ty = ty;
        def.indexes.push(index(1, "name", &[1], false));
    });
    let name = made.ids[1];
    let Rel::Get { table, columns, .. } = made.rel else { unreachable!("a table") };
    let text_of = |s: &str| Expr::literal(Value::Text(s.into()), ty);
    let list = Expr::InList {
        arg: Box::new(name.expr()),
        list: vec![text_of("b"), text_of("A"), text_of("a"), text_of("C")],
        negated: false,
    };
    let found =
        Domains::new(&table, &columns, std::slice::from_ref(&list), &Options::default(), &KnownRanges::default())
            .ranges(1)
            .unwrap();
    // 'A' and 'a' are one key.
    assert_eq!(found.ranges.iter().map(text).collect::<Vec<_>>(), ["['A'..'A']", "['b'..'b']", "['C'..'C']"]);
    let binary = Expr::literal(Value::Text("a".into()), SqlType::varchar(10, Collation::Utf8mb4Bin));
    let other = [eq(name, binary)];
    assert!(Domains::new(&table, &columns, &other, &Options::default(), &KnownRanges::default()).ranges(1).is_none());
}
