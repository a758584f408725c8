//! Scalar expressions, typed when they are built: the binder inserts every cast that MySQL makes implicitly.

use crate::{ColId, Columns, Plan, Rel, ScalarFunction};
use muster_types::{SqlType, Value};
use serde::{Deserialize, Serialize};

/// `a op b`. Both sides have the same type after binding (for text also the same collation, which decides).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CompareOp {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    /// `<=>`: equal, or both NULL; never NULL itself.
    NullSafeEq,
}

impl CompareOp {
    /// The operator with its sides exchanged.
    pub fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::LtEq => CompareOp::GtEq,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::GtEq => CompareOp::LtEq,
            same => same,
        }
    }
}

/// Three-valued logic over two or more arguments (`Xor`: exactly two).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LogicOp {
    And,
    Or,
    Xor,
}

/// Arithmetic. The result type stands in the node; the arguments are integers of the result's signedness, decimals
/// of any precision and scale, or doubles, all of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArithmeticOp {
    Add,
    Sub,
    Mul,
    /// `/`: decimal or double; NULL when the divisor is zero. The decimal result has the node's scale, rounded half
    /// away from zero.
    Div,
    /// `DIV`: integer quotient, truncated; NULL when the divisor is zero. Its arguments may be of different families:
    /// they are divided as decimals unless both are integers.
    IntDiv,
    /// `%`, `MOD`: sign of the dividend; NULL when the divisor is zero.
    Mod,
}

/// The quantifier of a comparison with the rows of a subquery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Quantifier {
    Any,
    All,
}

/// How the rows of a subquery become one value. `left` of `In` and `Compare` has one entry per column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SubqueryKind {
    /// The single column of the single row; NULL without rows; error 1242 with more than one.
    Scalar,
    Exists {
        negated: bool,
    },
    /// All rows: what a dependent join adds to a row ([`crate::Rel::Lateral`]). It has no value.
    Rows,
    /// `(left...) [NOT] IN (rows)`, with MySQL's three-valued logic.
    In {
        left: Vec<Expr>,
        negated: bool,
    },
    /// `left op ANY|ALL (rows)`.
    Compare {
        left: Box<Expr>,
        op: CompareOp,
        quantifier: Quantifier,
    },
}

/// A subquery in an expression, before the optimizer has turned it into a join or a [`Subplan`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subquery {
    pub kind: SubqueryKind,
    pub rel: Box<Rel>,
    /// The columns of `rel` that the expression uses, in order (one for `Scalar`).
    pub outputs: Vec<ColId>,
    /// Columns of the queries around it that `rel` mentions (free columns); empty when uncorrelated.
    pub outer: Vec<ColId>,
}

/// A subquery that runs by itself: once for each distinct combination of its parameters, results cached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subplan {
    pub kind: SubqueryKind,
    pub plan: Box<Plan>,
    pub outputs: Vec<ColId>,
    /// Outer columns that `plan` mentions as `Expr::Column`; replaced by literals before it runs.
    pub params: Vec<ColId>,
}

/// A scalar expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    Column(ColId),
    Literal {
        value: Value,
        ty: SqlType,
    },
    /// A `?` of a prepared statement whose value comes with each execution. `index`: its position among those of the
    /// statement, from 0. Values are converted to `ty`.
    Parameter {
        index: usize,
        ty: SqlType,
        /// A value that it may have: estimates and key ranges are made for this one. Nothing else may depend on it.
        planned_for: Option<Box<Value>>,
    },
    /// MySQL's conversion to `ty`, with warnings where MySQL warns.
    Cast {
        arg: Box<Expr>,
        ty: SqlType,
    },
    Compare {
        op: CompareOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Logic {
        op: LogicOp,
        args: Vec<Expr>,
    },
    Not(Box<Expr>),
    IsNull {
        arg: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE | FALSE`; never NULL.
    IsTruth {
        arg: Box<Expr>,
        truth: bool,
        negated: bool,
    },
    Arithmetic {
        op: ArithmeticOp,
        left: Box<Expr>,
        right: Box<Expr>,
        ty: SqlType,
    },
    Negate {
        arg: Box<Expr>,
        ty: SqlType,
    },
    /// `arg [NOT] IN (list)`; all of one type; NULL rules of MySQL.
    InList {
        arg: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    /// `arg [NOT] LIKE pattern ESCAPE escape`, under the collation of `arg`'s type. Without an ESCAPE clause `escape`
    /// is
    /// `Some('\\')`; `None` is `ESCAPE ''`.
    Like {
        arg: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<char>,
        negated: bool,
    },
    /// Searched CASE; all results have type `ty`.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        ty: SqlType,
    },
    Call {
        function: ScalarFunction,
        args: Vec<Expr>,
        ty: SqlType,
    },
    /// Logical plans only.
    Subquery(Box<Subquery>),
    /// Physical plans only.
    Subplan(Box<Subplan>),
}

impl Expr {
    pub fn literal(value: Value, ty: SqlType) -> Expr {
        Expr::Literal { value, ty }
    }

    /// A parameter of which no value is known.
    pub fn parameter(index: usize, ty: SqlType) -> Expr {
        Expr::Parameter { index, ty, planned_for: None }
    }

    pub fn int(i: i64) -> Expr {
        Expr::Literal { value: Value::Int(i), ty: SqlType::BIGINT }
    }

    pub fn bool(b: bool) -> Expr {
        Expr::Literal { value: Value::Bool(b), ty: SqlType::Bool }
    }

    pub fn null(ty: SqlType) -> Expr {
        Expr::Literal { value: Value::Null, ty }
    }

    pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Expr {
        Expr::Compare { op, left: Box::new(left), right: Box::new(right) }
    }

    pub fn eq(left: Expr, right: Expr) -> Expr {
        Expr::compare(CompareOp::Eq, left, right)
    }

    /// All conditions together; TRUE without any.
    pub fn and(mut args: Vec<Expr>) -> Expr {
        match args.len() {
            0 => Expr::bool(true),
            1 => args.remove(0),
            _ => Expr::Logic { op: LogicOp::And, args },
        }
    }

    /// The conditions that `self` is the AND of.
    pub fn into_conjuncts(self) -> Vec<Expr> {
        let mut conjuncts = Vec::new();
        self.add_conjuncts(&mut conjuncts);
        conjuncts
    }

    fn add_conjuncts(self, conjuncts: &mut Vec<Expr>) {
        match self {
            Expr::Logic { op: LogicOp::And, args } => args.into_iter().for_each(|arg| arg.add_conjuncts(conjuncts)),
            Expr::Literal { value: Value::Bool(true), .. } => {}
            other => conjuncts.push(other),
        }
    }

    /// The conditions that a list of conditions is the AND of: the list itself if it has nothing to take apart.
    pub fn conjuncts_of(list: Vec<Expr>) -> Vec<Expr> {
        let is_one = |e: &Expr| {
            !matches!(e, Expr::Logic { op: LogicOp::And, .. } | Expr::Literal { value: Value::Bool(true), .. })
        };
        if list.iter().all(is_one) {
            return list;
        }
        let mut conjuncts = Vec::with_capacity(list.len());
        list.into_iter().for_each(|e| e.add_conjuncts(&mut conjuncts));
        conjuncts
    }

    pub fn ty(&self, columns: &Columns) -> SqlType {
        match self {
            Expr::Column(id) => columns.ty(*id),
            Expr::Literal { ty, .. }
            | Expr::Parameter { ty, .. }
            | Expr::Cast { ty, .. }
            | Expr::Arithmetic { ty, .. }
            | Expr::Negate { ty, .. }
            | Expr::Case { ty, .. }
            | Expr::Call { ty, .. } => *ty,
            Expr::Compare { .. }
            | Expr::Logic { .. }
            | Expr::Not(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::InList { .. }
            | Expr::Like { .. } => SqlType::Bool,
            Expr::Subquery(q) => subquery_type(&q.kind, &q.outputs, columns),
            Expr::Subplan(p) => subquery_type(&p.kind, &p.outputs, columns),
        }
    }

    /// The columns mentioned, in order of appearance, each once; a correlated subquery mentions its outer columns.
    pub fn columns(&self) -> Vec<ColId> {
        let mut found: Vec<ColId> = Vec::new();
        self.visit(&mut |e| {
            let ids: &[ColId] = match e {
                Expr::Column(id) => std::slice::from_ref(id),
                Expr::Subquery(q) => &q.outer,
                Expr::Subplan(p) => &p.params,
                _ => &[],
            };
            for id in ids {
                if !found.contains(id) {
                    found.push(*id);
                }
            }
        });
        found
    }

    /// Returns true if the expression reads or assigns a user variable while it is computed.
    pub fn uses_variables(&self) -> bool {
        let mut found = false;
        self.visit(&mut |e| {
            let is_it = |f: &ScalarFunction| matches!(f, ScalarFunction::AssignVariable | ScalarFunction::ReadVariable);
            found |= matches!(e, Expr::Call { function, .. } if is_it(function));
        });
        found
    }

    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.visit(&mut |e| found |= matches!(e, Expr::Subquery(_) | Expr::Subplan(_)));
        found
    }

    /// Returns true if operators of their own compute a part of the expression: subqueries, and calls that wait or ask
    /// the session.
    pub fn runs_apart(&self) -> bool {
        let mut found = false;
        self.visit(&mut |e| found |= matches!(e, Expr::Subquery(_) | Expr::Subplan(_)) || e.acts());
        found
    }

    /// Returns true for a call that waits or asks the session, which is made once for each of its places.
    pub fn acts(&self) -> bool {
        use ScalarFunction as F;
        matches!(self, Expr::Call { function: F::Sleep | F::Benchmark | F::Session(_), .. })
    }
}

fn subquery_type(kind: &SubqueryKind, outputs: &[ColId], columns: &Columns) -> SqlType {
    match kind {
        SubqueryKind::Scalar => columns.ty(outputs[0]),
        _ => SqlType::Bool,
    }
}

/// Functions over the rows of a group. NULL arguments are skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AggregateFunction {
    /// `COUNT(*)` without arguments; `COUNT(a, b..)` counts rows without any NULL in them.
    Count,
    /// Over decimals and integers exact (`DECIMAL`), else double. NULL without rows.
    Sum,
    /// Scale of the argument plus `div_precision_increment` (4), rounded half away from zero.
    Avg,
    Min,
    Max,
    /// Any one value of the group (`ANY_VALUE`, or a column that the group determines).
    AnyValue,
    /// Values in `order`, joined by `separator`. What is longer than `bytes_max` is cut.
    GroupConcat {
        separator: String,
        bytes_max: usize,
        order: Vec<crate::SortKey>,
    },
    /// The values of arrays one behind the other, in an array.
    JsonArrayAgg,
    /// The members of objects, in an object; the last one of a name counts.
    JsonObjectAgg,
    StdDevPop,
    StdDevSamp,
    VarPop,
    VarSamp,
    BitAnd,
    BitOr,
    BitXor,
}

impl AggregateFunction {
    /// The name as MySQL prints it.
    pub fn name(&self) -> &'static str {
        match self {
            AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::AnyValue => "any_value",
            AggregateFunction::GroupConcat { .. } => "group_concat",
            AggregateFunction::JsonArrayAgg => "json_arrayagg",
            AggregateFunction::JsonObjectAgg => "json_objectagg",
            AggregateFunction::StdDevPop => "std",
            AggregateFunction::StdDevSamp => "stddev_samp",
            AggregateFunction::VarPop => "variance",
            AggregateFunction::VarSamp => "var_samp",
            AggregateFunction::BitAnd => "bit_and",
            AggregateFunction::BitOr => "bit_or",
            AggregateFunction::BitXor => "bit_xor",
        }
    }
}

/// One aggregate of a GROUP BY.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub args: Vec<Expr>,
    pub distinct: bool,
    pub ty: SqlType,
}
