//! Column-wise evaluation against the general evaluator, row by row.

use super::*;
use muster_algebra::{ArithmeticOp, CompareOp, IntervalUnit, LogicOp, ScalarFunction};
use muster_eval::Evaluator;
use muster_types::{Decimal, ErrorCode, IntWidth};
use proptest::prelude::*;

pub(super) const DEC: SqlType = SqlType::Decimal { precision: 12, scale: 2 };
const SMALL: SqlType = SqlType::Int { width: IntWidth::Small, unsigned: false };

/// Columns 0.. of the random rows.
const TYPES: [SqlType; 7] = [INT, SMALL, DEC, SqlType::Double, SqlType::Date, TEXT, SqlType::Bool];

fn value_of(ty: usize) -> BoxedStrategy<Value> {
    let value = match ty {
        0 => prop_oneof![(-5i64..5).prop_map(int), Just(int(i64::MAX)), Just(int(i64::MIN))].boxed(),
        1 => (-5i64..5).prop_map(int).boxed(),
        2 => (-500i128..500).prop_map(|u| Value::Decimal(Decimal::new(u, 2))).boxed(),
        3 => prop_oneof![Just(0.0), Just(-0.0), -3.0..3.0].prop_map(Value::Double).boxed(),
        4 => (9000i32..9100).prop_map(Value::Date).boxed(),
        5 => prop::sample::select(vec!["", "a", "A", "ab", "AB ", "é", "b%", "_", "a\tb"]).prop_map(text).boxed(),
        _ => any::<bool>().prop_map(Value::Bool).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 5 => value].boxed()
}

pub(super) fn leaf(ty: usize) -> BoxedStrategy<Expr> {
    prop_oneof![Just(Expr::Column(ColId(ty as u32))), value_of(ty).prop_map(move |v| Expr::literal(v, TYPES[ty])),]
        .boxed()
}

/// A number of one of the first types, and arithmetic over them.
fn number(depth: u32) -> BoxedStrategy<(usize, Expr)> {
    let leaves = (0usize..4).prop_flat_map(|ty| leaf(ty).prop_map(move |e| (ty, e)));
    if depth == 0 {
        return leaves.boxed();
    }
    let ops = prop::sample::select(vec![
        ArithmeticOp::Add,
        ArithmeticOp::Sub,
        ArithmeticOp::Mul,
        ArithmeticOp::Div,
        ArithmeticOp::IntDiv,
        ArithmeticOp::Mod,
    ]);
    let same = |ty: usize| (leaf(ty), leaf(ty)).prop_map(move |(a, b)| (ty, a, b));
    let arithmetic = ((0usize..4).prop_flat_map(same), ops).prop_map(|((ty, a, b), op)| {
        let result = match (ty, op) {
            (0 | 1, ArithmeticOp::Div) => SqlType::decimal(23, 4),
            (_, ArithmeticOp::IntDiv) | (0 | 1, _) => INT,
            (2, ArithmeticOp::Mul) => SqlType::decimal(24, 4),
            (2, ArithmeticOp::Div) => SqlType::decimal(18, 6),
            (2, _) => SqlType::decimal(13, 2),
            _ => SqlType::Double,
        };
        let expr = Expr::Arithmetic { op, left: Box::new(a), right: Box::new(b), ty: result };
        (7, expr)
    });
    prop_oneof![leaves, arithmetic].boxed()
}

fn predicate(depth: u32) -> BoxedStrategy<Expr> {
    let compare_op = || {
        prop::sample::select(vec![
            CompareOp::Eq,
            CompareOp::NotEq,
            CompareOp::Lt,
            CompareOp::LtEq,
            CompareOp::Gt,
            CompareOp::GtEq,
            CompareOp::NullSafeEq,
        ])
    };
    let same = |ty: usize| (leaf(ty), leaf(ty));
    let compare = ((0usize..7).prop_flat_map(same), compare_op()).prop_map(|((a, b), op)| Expr::compare(op, a, b));
    let in_list = ((0usize..7).prop_flat_map(|ty| (leaf(ty), prop::collection::vec(leaf(ty), 1..4))), any::<bool>())
        .prop_map(|((arg, list), negated)| Expr::InList { arg: Box::new(arg), list, negated });
    let like = (leaf(5), leaf(5), any::<bool>()).prop_map(|(arg, pattern, negated)| Expr::Like {
        arg: Box::new(arg),
        pattern: Box::new(pattern),
        escape: Some('\\'),
        negated,
    });
    let is_null = ((0usize..7).prop_flat_map(leaf), any::<bool>())
        .prop_map(|(arg, negated)| Expr::IsNull { arg: Box::new(arg), negated });
    let simple = prop_oneof![4 => compare, 2 => in_list, 2 => like, 1 => is_null, 1 => leaf(6)].boxed();
    if depth == 0 {
        return simple;
    }
    let inner = || predicate(depth - 1);
    let logic = (prop::sample::select(vec![LogicOp::And, LogicOp::Or, LogicOp::Xor]), inner(), inner())
        .prop_map(|(op, a, b)| Expr::Logic { op, args: vec![a, b] });
    let truth = (inner(), any::<bool>(), any::<bool>()).prop_map(|(arg, truth, negated)| Expr::IsTruth {
        arg: Box::new(arg),
        truth,
        negated,
    });
    prop_oneof![3 => simple, 3 => logic, 1 => truth, 1 => inner().prop_map(|e| Expr::Not(Box::new(e)))].boxed()
}

fn function() -> BoxedStrategy<Expr> {
    let extract =
        prop::sample::select(vec![IntervalUnit::Year, IntervalUnit::Quarter, IntervalUnit::Month, IntervalUnit::Day]);
    let units =
        prop::sample::select(vec![IntervalUnit::Day, IntervalUnit::Week, IntervalUnit::Month, IntervalUnit::Year]);
    prop_oneof![
        (leaf(4), extract).prop_map(|(e, u)| Expr::Call {
            function: ScalarFunction::Extract(u),
            args: vec![e],
            ty: INT
        }),
        (leaf(4), leaf(1), units).prop_map(|(d, n, u)| Expr::Call {
            function: ScalarFunction::DateAdd(u),
            args: vec![d, n],
            ty: SqlType::Date
        }),
        (leaf(5), -4i64..4, prop::option::of(-1i64..3)).prop_map(|(e, start, length)| {
            let args = [Some(e), Some(Expr::int(start)), length.map(Expr::int)].into_iter().flatten().collect();
            Expr::Call { function: ScalarFunction::Substring, args, ty: TEXT }
        }),
        (leaf(5), leaf(5)).prop_map(|(a, b)| Expr::Call {
            function: ScalarFunction::Concat,
            args: vec![a, b],
            ty: TEXT
        }),
        (leaf(2), leaf(2)).prop_map(|(a, b)| Expr::Call {
            function: ScalarFunction::Coalesce,
            args: vec![a, b],
            ty: DEC
        }),
        (leaf(5), leaf(5)).prop_map(|(a, b)| Expr::Call {
            function: ScalarFunction::NullIf,
            args: vec![a, b],
            ty: TEXT
        }),
        (predicate(0), leaf(2), leaf(2)).prop_map(|(c, a, b)| Expr::Case {
            branches: vec![(c, a)],
            otherwise: Some(Box::new(b)),
            ty: DEC
        }),
        leaf(2).prop_map(|e| Expr::Negate { arg: Box::new(e), ty: DEC }),
        cast(),
        super::columnwise::over_columns(),
    ]
    .boxed()
}

fn cast() -> BoxedStrategy<Expr> {
    let targets = vec![
        INT,
        SMALL,
        DEC,
        SqlType::decimal(20, 4),
        SqlType::decimal(5, 1),
        SqlType::Double,
        SqlType::Date,
        SqlType::DateTime { fsp: 0 },
        TEXT,
        SqlType::Bool,
        SqlType::BIGINT_UNSIGNED,
    ];
    ((0usize..7).prop_flat_map(leaf), prop::sample::select(targets))
        .prop_map(|(arg, ty)| Expr::Cast { arg: Box::new(arg), ty })
        .boxed()
}

fn same(a: &Result<Value>, b: &Result<Value>) -> bool {
    match (a, b) {
        (Ok(Value::Double(x)), Ok(Value::Double(y))) => (x - y).abs() <= x.abs() * 1e-15,
        (Ok(a), Ok(b)) => a == b || format!("{a:?}").trim() == format!("{b:?}").trim(),
        (Err(a), Err(b)) => a.code == b.code,
        _ => false,
    }
}

/// Both ways over the rows; an error of any row is an error of all when columns are computed.
fn check(expr: &Expr, rows: &[Vec<Value>]) -> std::result::Result<(), TestCaseError> {
    let mut q = Query::new();
    let ids = q.columns(&TYPES);
    let ty = expr.ty(&q.columns);
    let id = q.column(ty);
    let input = q.values(&ids, rows.to_vec());
    let project = plan(PlanOp::Project { input: Box::new(input), exprs: vec![(id, expr.clone())] }, vec![id]);
    let got = q.try_run(&project);
    let want: Vec<Result<Value>> = rows
        .iter()
        .map(|row| {
            let mut evaluator = Evaluator {
                value: &|id| row.get(id.0 as usize).cloned(),
                ty: &|id| TYPES.get(id.0 as usize).copied(),
                parameters: &[],
                warn: &mut |_| {},
                text_bytes_max: 64 << 20,
                reserve: &mut |_| Ok(()),
                last_insert_id: None,
                states: None,
            };
            evaluator.eval(expr).expect("all columns have values")
        })
        .collect();
    match got {
        Err(e) => prop_assert!(want.iter().any(|w| same(w, &Err(e.clone()))), "{expr:?}: {e}, want {want:?}"),
        Ok(got) => {
            for ((got, want), row) in got.into_iter().zip(&want).zip(rows) {
                let got = Ok(got[0].clone());
                prop_assert!(same(&got, want), "{expr:?} of {row:?}: {got:?}, want {want:?}");
            }
        }
    }
    Ok(())
}

fn rows() -> impl Strategy<Value = Vec<Vec<Value>>> {
    prop::collection::vec((0..TYPES.len()).map(value_of).collect::<Vec<_>>(), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn predicates_agree(expr in predicate(2), rows in rows()) {
        check(&expr, &rows)?;
    }

    #[test]
    fn arithmetic_agrees((_, expr) in number(1), rows in rows()) {
        check(&expr, &rows)?;
    }

    #[test]
    fn functions_agree(expr in function(), rows in rows()) {
        check(&expr, &rows)?;
    }
}

/// A text without weight under the collation stands before every character, or nowhere.
#[test]
fn texts_without_weight_are_located() {
    let row =
        vec![Value::Null, Value::Null, Value::Null, Value::Null, Value::Null, Value::Text("a\tb".into()), Value::Null];
    for needle in ["", "\t", "\tb"] {
        let args = vec![Expr::literal(Value::Text(needle.into()), TEXT), Expr::Column(ColId(5))];
        let call = Expr::Call { function: ScalarFunction::Locate, args, ty: SqlType::BIGINT };
        check(&call, std::slice::from_ref(&row)).unwrap_or_else(|e| panic!("{needle:?}: {e}"));
    }
}

/// The expression with a parameter in place of each literal, and their values.
fn with_parameters(expr: Expr) -> (Expr, Vec<Value>) {
    let mut values = Vec::new();
    let expr = expr.rewrite(&mut |e| match e {
        Expr::Literal { value, ty } => {
            values.push(value);
            Expr::parameter(values.len() - 1, ty)
        }
        other => other,
    });
    (expr, values)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn parameters_are_worth_what_literals_are(expr in predicate(2), rows in rows()) {
        let mut q = Query::new();
        let ids = q.columns(&TYPES);
        let id = q.column(SqlType::Bool);
        let input = q.values(&ids, rows.to_vec());
        let of = |expr: Expr| {
            plan(PlanOp::Project { input: Box::new(input.clone()), exprs: vec![(id, expr)] }, vec![id])
        };
        let want = q.try_run(&of(expr.clone()));
        let (expr, values) = with_parameters(expr);
        let context = ExecContext { parameters: values.into(), ..q.context() };
        match (q.try_run_in(&of(expr), context), want) {
            (Ok(got), Ok(want)) => prop_assert_eq!(got, want),
            (got, want) => prop_assert_eq!(got.is_err(), want.is_err()),
        }
    }
}

/// One plan runs with other values each time; they are converted to what it was made for.
#[test]
fn a_plan_runs_with_any_parameters() {
    let mut q = Query::new();
    let ids = q.columns(&[INT]);
    let input = q.values(&ids, (0..10).map(|i| vec![int(i)]).collect());
    let below = Expr::compare(CompareOp::Lt, column(ids[0]), Expr::parameter(0, INT));
    let filter = plan(PlanOp::Filter { input: Box::new(input), predicates: vec![below] }, ids);
    let run = |values: Vec<Value>| q.try_run_in(&filter, ExecContext { parameters: values.into(), ..q.context() });
    assert_eq!(run(vec![int(3)]).unwrap().len(), 3);
    assert_eq!(run(vec![text("7")]).unwrap().len(), 7);
    assert_eq!(run(vec![Value::Null]).unwrap().len(), 0);
    assert!(run(vec![]).is_err(), "no value");
}

#[test]
fn errors_have_mysqls_numbers() {
    let mut q = Query::new();
    let add = Expr::Arithmetic {
        op: ArithmeticOp::Add,
        left: Box::new(Expr::int(i64::MAX)),
        right: Box::new(Expr::int(1)),
        ty: INT,
    };
    let e = q.eval(add.clone()).unwrap_err();
    assert_eq!(e.code, ErrorCode::DataOutOfRange);
    assert!(e.message.contains("BIGINT value is out of range"), "{e}");
    // A branch that is not reached does not fail.
    let case =
        Expr::Case { branches: vec![(Expr::bool(false), add)], otherwise: Some(Box::new(Expr::int(1))), ty: INT };
    assert_eq!(q.eval(case).unwrap(), int(1));
}

#[test]
fn conversions_warn() {
    let mut q = Query::new();
    let cast = Expr::Cast { arg: Box::new(Expr::literal(text("12abc"), TEXT)), ty: INT };
    assert_eq!(q.eval(cast).unwrap(), int(12));
    assert_eq!(q.warnings.take()[0].code, ErrorCode::TruncatedWrongValue);
}
