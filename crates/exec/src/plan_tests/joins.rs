use super::*;
use muster_algebra::{CompareOp, JoinKind, Side};
use std::collections::HashMap;

type JoinedRows = Vec<(Option<i64>, i64)>;

fn rows(rows: &JoinedRows) -> Vec<Vec<Value>> {
    rows.iter().map(|(k, v)| vec![opt(*k), int(*v)]).collect()
}

/// The rows of a join by definition: the condition of each pair is TRUE, FALSE or unknown.
fn by_definition(
    kind: JoinKind,
    left: &JoinedRows,
    right: &JoinedRows,
    condition: impl Fn(&(Option<i64>, i64), &(Option<i64>, i64)) -> Option<bool>,
) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for l in left {
        let outcomes: Vec<Option<bool>> = right.iter().map(|r| condition(l, r)).collect();
        let matched = outcomes.contains(&Some(true));
        let l_row = vec![opt(l.0), int(l.1)];
        match kind {
            JoinKind::Inner | JoinKind::Left => {
                for (r, outcome) in right.iter().zip(&outcomes) {
                    if *outcome == Some(true) {
                        out.push([l_row.clone(), vec![opt(r.0), int(r.1)]].concat());
                    }
                }
                if kind == JoinKind::Left && !matched {
                    out.push([l_row, vec![Value::Null, Value::Null]].concat());
                }
            }
            JoinKind::Semi if matched => out.push(l_row),
            JoinKind::Anti if !matched => out.push(l_row),
            JoinKind::NullAwareAnti if outcomes.iter().all(|o| *o == Some(false)) => out.push(l_row),
            _ => {}
        }
    }
    sorted(out)
}

const KINDS: [JoinKind; 5] = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti, JoinKind::NullAwareAnti];

/// Pairs of inputs: NULL keys, duplicates, nothing on one side.
fn inputs() -> Vec<(JoinedRows, JoinedRows)> {
    let left: JoinedRows = vec![(Some(1), 10), (Some(1), 11), (Some(2), 20), (None, 30), (Some(4), 40)];
    let right: JoinedRows = vec![(Some(1), 5), (Some(2), 25), (Some(2), 15), (Some(3), 1)];
    let with_null: JoinedRows = right.iter().copied().chain([(None, 7)]).collect();
    let full: JoinedRows = left.iter().copied().filter(|r| r.0.is_some()).collect();
    vec![
        (left.clone(), right.clone()),
        (left.clone(), with_null.clone()),
        (full.clone(), right.clone()),
        (full, with_null),
        (left.clone(), vec![]),
        (vec![], right),
    ]
}

/// Runs the join in every way the physical algebra has.
fn check(residual: bool) {
    for (left, right) in inputs() {
        for kind in KINDS {
            let want = by_definition(kind, &left, &right, |l, r| {
                let equal = l.0.zip(r.0).map(|(a, b)| a == b);
                // A comparison of the second columns, never NULL.
                match (equal, residual.then_some(l.1 > r.1)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (None, _) => None,
                    (Some(true), _) => Some(true),
                }
            });
            for variant in 0..6 {
                let mut q = Query::new();
                let (a, b) = (q.columns(&[INT, INT]), q.columns(&[INT, INT]));
                let sources = match variant % 2 {
                    0 => (q.values(&a, rows(&left)), q.values(&b, rows(&right))),
                    _ => (q.split_values(&a, rows(&left)), q.split_values(&b, rows(&right))),
                };
                let output = match kind {
                    JoinKind::Inner | JoinKind::Left => a.iter().chain(&b).copied().collect(),
                    _ => a.clone(),
                };
                let keys = vec![(column(a[0]), column(b[0]))];
                let rest =
                    if residual { vec![Expr::compare(CompareOp::Gt, column(a[1]), column(b[1]))] } else { Vec::new() };
                let (l, r) = (Box::new(sources.0), Box::new(sources.1));
                let op = match variant {
                    0 | 1 => PlanOp::HashJoin { kind, left: l, right: r, keys, residual: rest, build: Side::Left },
                    2 | 3 => PlanOp::HashJoin { kind, left: l, right: r, keys, residual: rest, build: Side::Right },
                    4 => {
                        let on = [vec![Expr::eq(column(a[0]), column(b[0]))], rest].concat();
                        PlanOp::NestedLoopJoin { kind, left: l, right: r, on }
                    }
                    _ => {
                        let in_order = |input: Box<Plan>, id: ColId| {
                            let output = input.output.clone();
                            Box::new(plan(PlanOp::Sort { input, keys: vec![asc(id)], fetch: None }, output))
                        };
                        let (l, r) = (in_order(l, a[0]), in_order(r, b[0]));
                        PlanOp::MergeJoin { kind, left: l, right: r, keys, residual: rest }
                    }
                };
                if variant == 5 && kind == JoinKind::NullAwareAnti {
                    // A merge join cannot, and nothing else is put in its place.
                    assert!(q.try_run(&plan(op, output)).is_err());
                    continue;
                }
                let got = q.run_sorted(&plan(op, output));
                assert_eq!(got, want, "{kind:?}, variant {variant}, {left:?}, {right:?}, residual {residual}");
            }
        }
    }
}

#[test]
fn every_kind_and_operator_agrees_with_the_definition() {
    check(false);
}

/// Many rows for few of the keys, NULLs, and keys of one side alone; in memory that holds a small part of them.
fn skewed(n: i64, heavy: i64, from: i64) -> Vec<Vec<Value>> {
    let key = |i: i64| match i {
        i if i < heavy => Some(7),
        i if i % 50 == 0 => None,
        i => Some(from + i),
    };
    (0..n).map(|i| vec![opt(key(i)), int(i % 100), text(&format!("{i:0>150}"))]).collect()
}

/// Rows of the left side with the rows of the right side that are their partners by key and residual.
fn partners<'a>(
    left: &'a [Vec<Value>],
    right: &'a [Vec<Value>],
    residual: bool,
) -> impl Iterator<Item = (&'a Vec<Value>, Vec<&'a Vec<Value>>)> {
    let mut by_key: HashMap<i64, Vec<&Vec<Value>>> = HashMap::new();
    for row in right {
        if let Value::Int(key) = &row[0] {
            by_key.entry(*key).or_default().push(row);
        }
    }
    let second = |row: &[Value]| if let Value::Int(n) = row[1] { n } else { panic!("not NULL") };
    left.iter().map(move |row| {
        let found = if let Value::Int(key) = &row[0] { by_key.get(key) } else { None };
        let found = found.into_iter().flatten().copied();
        (row, found.filter(|r| !residual || second(row) > second(r)).collect())
    })
}

#[test]
fn joins_that_do_not_fit_agree_with_the_definition() {
    let inputs = [
        // Keys that are spread well, and a build side with one key of far more rows than fit.
        (skewed(5000, 10, 2000), skewed(6000, 10, 0)),
        (skewed(1000, 5, 100), skewed(6000, 4000, 0)),
        (skewed(6000, 4000, 0), skewed(1000, 5, 100)),
    ];
    for ((left, right), residual) in inputs.iter().flat_map(|i| [(i, false), (i, true)]) {
        for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
            let mut want = Vec::new();
            for (l, found) in partners(left, right, residual) {
                let l_row = vec![l[0].clone(), l[2].clone()];
                match kind {
                    JoinKind::Inner | JoinKind::Left => {
                        want.extend(found.iter().map(|r| [l_row.clone(), vec![r[2].clone()]].concat()));
                        if kind == JoinKind::Left && found.is_empty() {
                            want.push([l_row, vec![Value::Null]].concat());
                        }
                    }
                    JoinKind::Semi if !found.is_empty() => want.push(l_row),
                    JoinKind::Anti if found.is_empty() => want.push(l_row),
                    _ => {}
                }
            }
            let want = sorted(want);
            for (build, estimate) in [(Side::Left, 1.0), (Side::Right, 1.0), (Side::Left, 1e6), (Side::Right, 1e6)] {
                let mut q = Query::with_memory(1 << 20);
                let (a, b) = (q.columns(&[INT, INT, TEXT]), q.columns(&[INT, INT, TEXT]));
                let (mut l, mut r) = (q.split_values(&a, left.clone()), q.split_values(&b, right.clone()));
                (l.estimate.rows, r.estimate.rows) = (estimate, estimate);
                let rest = Expr::compare(CompareOp::Gt, column(a[1]), column(b[1]));
                let op = PlanOp::HashJoin {
                    kind,
                    left: Box::new(l),
                    right: Box::new(r),
                    keys: vec![(column(a[0]), column(b[0]))],
                    residual: if residual { vec![rest] } else { Vec::new() },
                    build,
                };
                let output = match kind {
                    JoinKind::Inner | JoinKind::Left => vec![a[0], a[2], b[2]],
                    _ => vec![a[0], a[2]],
                };
                let got = q.run_sorted(&plan(op, output));
                assert!(got == want, "{kind:?}, {build:?}, residual {residual}: {} for {}", got.len(), want.len());
                assert_eq!(q.runtime.memory_used_bytes(), 0);
            }
        }
    }
}

/// Rows of the probe side without partners do not go to disk, where nothing below the join can leave them out.
#[test]
fn rows_without_partners_do_not_spill() {
    // A tenth of the probe side's keys, within the bounds of all, are keys of the build side.
    let (left, right) = (skewed(6000, 0, 0), skewed(600, 0, 0));
    let spread = |rows: Vec<Vec<Value>>, by: i64| {
        let spread = |row: Vec<Value>| match row[0] {
            Value::Int(key) => vec![int(key * by), row[1].clone(), row[2].clone()],
            _ => row,
        };
        rows.into_iter().map(spread).collect::<Vec<_>>()
    };
    let right = spread(right, 10);
    for (kind, drops) in
        [(JoinKind::Inner, true), (JoinKind::Semi, true), (JoinKind::Anti, false), (JoinKind::Left, false)]
    {
        let mut q = Query::with_memory(256 << 10);
        let (a, b) = (q.columns(&[INT, INT, TEXT]), q.columns(&[INT, INT, TEXT]));
        // In the order of a sort, which knows no filters.
        let rows = q.split_values(&a, left.clone());
        let sort = PlanOp::Sort { input: Box::new(rows), keys: vec![asc(a[1])], fetch: Some(1 << 20) };
        let op = PlanOp::HashJoin {
            kind,
            left: Box::new(plan(sort, a.clone())),
            right: Box::new(q.split_values(&b, right.clone())),
            keys: vec![(column(a[0]), column(b[0]))],
            residual: Vec::new(),
            build: Side::Right,
        };
        let join = plan(op, vec![a[2]]);
        let profile = crate::Profile::new(q.counters.clone());
        let (planned, columns) = q.finished(&join);
        let rows = q.try_run_measured(&planned, &columns, &profile).unwrap();
        let partners = partners(&left, &right, false).filter(|(_, found)| !found.is_empty()).count();
        let want = match kind {
            JoinKind::Left => left.len(),
            JoinKind::Anti => left.len() - partners,
            _ => partners,
        };
        assert_eq!(rows.len(), want, "{kind:?}");
        let mut node = &planned;
        while !matches!(node.op, PlanOp::HashJoin { .. }) {
            node = node.inputs()[0];
        }
        let actual = profile.of(node.id);
        assert!(actual.spills > 0, "{kind:?}");
        let others = (left.len() - partners) as u64;
        let dropped = if drops { others * 9 / 10..others + 1 } else { 0..1 };
        assert!(dropped.contains(&actual.rows_dropped), "{kind:?}: {} of {others}", actual.rows_dropped);
    }
}

#[test]
fn not_in_that_does_not_fit_keeps_to_three_values() {
    let left = skewed(9000, 10, 2000);
    let without_nulls = |rows: Vec<Vec<Value>>| rows.into_iter().filter(|r| r[0] != Value::Null).collect::<Vec<_>>();
    for right in [skewed(5000, 10, 0), without_nulls(skewed(5000, 10, 0)), vec![]] {
        let null = right.iter().any(|r| r[0] == Value::Null);
        let stays = |(l, found): &(&Vec<Value>, Vec<&Vec<Value>>)| {
            right.is_empty() || found.is_empty() && !null && l[0] != Value::Null
        };
        let want = sorted(partners(&left, &right, false).filter(stays).map(|(l, _)| vec![l[2].clone()]).collect());
        let mut q = Query::with_memory(1 << 20);
        let (a, b) = (q.columns(&[INT, INT, TEXT]), q.columns(&[INT, INT, TEXT]));
        let op = PlanOp::HashJoin {
            kind: JoinKind::NullAwareAnti,
            left: Box::new(q.split_values(&a, left.clone())),
            right: Box::new(q.split_values(&b, right.clone())),
            keys: vec![(column(a[0]), column(b[0]))],
            residual: Vec::new(),
            build: Side::Left,
        };
        assert!(q.run_sorted(&plan(op, vec![a[2]])) == want, "{} rows on the right", right.len());
        assert_eq!(q.runtime.memory_used_bytes(), 0);
    }
}

#[test]
fn residual_conditions_are_part_of_the_join() {
    check(true);
}

/// `(a, b) NOT IN (SELECT x, y ...)`: a row stays if every pair of it with a row of the other side is FALSE.
#[test]
fn not_in_with_several_keys_keeps_to_three_values() {
    let keys = [Some(1), Some(2), None];
    let all: Vec<[Option<i64>; 2]> = keys.iter().flat_map(|a| keys.map(|b| [*a, b])).collect();
    let equal = |l: Option<i64>, r: Option<i64>| l.zip(r).map(|(l, r)| l == r);
    let rights = [
        vec![],
        all.clone(),
        vec![[Some(1), Some(1)]],
        vec![[Some(2), None]],
        vec![[None, None]],
        vec![[None, Some(1)], [Some(2), Some(2)]],
    ];
    for right in rights {
        let may_be_equal = |l: &[Option<i64>; 2], r: &[Option<i64>; 2]| {
            equal(l[0], r[0]) != Some(false) && equal(l[1], r[1]) != Some(false)
        };
        let stays = |l: &&[Option<i64>; 2]| right.iter().all(|r| !may_be_equal(l, r));
        let want: Vec<Vec<Value>> = all.iter().filter(stays).map(|row| row.map(opt).to_vec()).collect();
        for build in [Side::Left, Side::Right] {
            let mut q = Query::new();
            let (a, b) = (q.columns(&[INT, INT]), q.columns(&[INT, INT]));
            let rows = |rows: &[[Option<i64>; 2]]| rows.iter().map(|row| row.map(opt).to_vec()).collect();
            let op = PlanOp::HashJoin {
                kind: JoinKind::NullAwareAnti,
                left: Box::new(q.split_values(&a, rows(&all))),
                right: Box::new(q.split_values(&b, rows(&right))),
                keys: vec![(column(a[0]), column(b[0])), (column(a[1]), column(b[1]))],
                residual: Vec::new(),
                build,
            };
            assert_eq!(q.run_sorted(&plan(op, a.clone())), sorted(want.clone()), "{right:?}, {build:?}");
        }
    }
}

#[test]
fn large_build_sides_are_partitioned() {
    let mut q = Query::new();
    let (a, b) = (q.columns(&[INT, INT]), q.columns(&[INT, INT]));
    let many = |n: i64| (0..n).map(|i| vec![int(i), int(i * 2)]).collect::<Vec<_>>();
    let (mut left, mut right) = (q.split_values(&a, many(5000)), q.split_values(&b, many(3000)));
    (left.estimate.rows, right.estimate.rows) = (1e6, 1e6);
    for build in [Side::Left, Side::Right] {
        for (kind, count) in [(JoinKind::Inner, 3000), (JoinKind::Left, 5000), (JoinKind::Anti, 2000)] {
            let op = PlanOp::HashJoin {
                kind,
                left: Box::new(left.clone()),
                right: Box::new(right.clone()),
                keys: vec![(column(a[0]), column(b[0]))],
                residual: Vec::new(),
                build,
            };
            let join = plan(op, vec![a[0]]);
            let described = q.described(&join);
            assert!(described.contains("Partitioned"), "{described}");
            assert_eq!(q.run(&join).len(), count);
        }
    }
}

#[test]
fn texts_join_under_their_collation() {
    let mut q = Query::new();
    let (a, b) = (q.columns(&[TEXT]), q.columns(&[TEXT]));
    let one = |words: &[&str]| words.iter().map(|w| vec![text(w)]).collect::<Vec<_>>();
    let op = |q: &Query, l: &[&str], r: &[&str]| PlanOp::HashJoin {
        kind: JoinKind::Inner,
        left: Box::new(q.values(&a, one(l))),
        right: Box::new(q.values(&b, one(r))),
        keys: vec![(column(a[0]), column(b[0]))],
        residual: Vec::new(),
        build: Side::Right,
    };
    let output: Vec<ColId> = a.iter().chain(&b).copied().collect();
    let got = q.run_sorted(&plan(op(&q, &["abc", "É", "x"], &["ABC", "e", "y"]), output.clone()));
    assert_eq!(got, [vec![text("abc"), text("ABC")], vec![text("É"), text("e")]]);
    // Each side alone is in one case, but not both together.
    let got = q.run(&plan(op(&q, &["abc"], &["ABC"]), output));
    assert_eq!(got.len(), 1);
}

#[test]
fn keys_of_different_types_meet() {
    let mut q = Query::new();
    let decimal = SqlType::decimal(10, 2);
    let (a, b) = (q.columns(&[SqlType::INT]), q.columns(&[decimal]));
    let number = |u| vec![Value::Decimal(muster_types::Decimal::new(u, 2))];
    let op = PlanOp::HashJoin {
        kind: JoinKind::Inner,
        left: Box::new(q.values(&a, vec![vec![int(1)], vec![int(2)]])),
        right: Box::new(q.values(&b, vec![number(100), number(150)])),
        keys: vec![(column(a[0]), column(b[0]))],
        residual: Vec::new(),
        build: Side::Left,
    };
    assert_eq!(q.run(&plan(op, a)), [[int(1)]]);
}

#[test]
fn a_cross_join_pairs_all() {
    let mut q = Query::new();
    let (a, b) = (q.columns(&[INT]), q.columns(&[INT]));
    let op = PlanOp::NestedLoopJoin {
        kind: JoinKind::Inner,
        left: Box::new(q.split_values(&a, vec![vec![int(1)], vec![int(2)]])),
        right: Box::new(q.values(&b, vec![vec![int(3)], vec![int(4)]])),
        on: Vec::new(),
    };
    let got = q.run_sorted(&plan(op, vec![b[0], a[0]]));
    assert_eq!(got, [[int(3), int(1)], [int(3), int(2)], [int(4), int(1)], [int(4), int(2)]]);
}
