//! DISTINCT in aggregates as two levels of grouping, which can spill: first one row for each group and distinct value,
//! then the rows of each group. Where all calls with DISTINCT have the same arguments, and the others can be put
//! together from what they are of the rows of the first level.

use muster_algebra::{
    AggregateCall, AggregateFunction, ArithmeticOp, ColId, Columns, CompareOp, Expr, Plan, PlanOp, ScalarFunction,
    SqlType, expr_text,
};

/// Replaces an aggregate with DISTINCT by two levels of grouping without it, where that is possible.
pub fn split(mut plan: Plan, columns: &mut Columns) -> Plan {
    let PlanOp::HashAggregate { input, group, aggregates } = &mut plan.op else { return plan };
    let mut distinct = aggregates.iter().map(|(_, call)| call).filter(|call| matters(call));
    let Some(args) = distinct.next().map(|first| first.args.clone()) else { return plan };
    if distinct.any(|call| call.args != args) || !aggregates.iter().all(|(_, call)| splits(call)) {
        return plan;
    }
    let estimate = plan.estimate;
    let (group, aggregates) = (std::mem::take(group), std::mem::take(aggregates));
    let (source, values) = with_values(super::take(input), args, columns);
    let mut levels = Levels { columns, inner: Vec::new(), outer: Vec::new(), results: Vec::new() };
    levels.results.extend(group.iter().map(|id| (*id, Expr::Column(*id))));
    aggregates.into_iter().for_each(|(id, call)| levels.add(id, call, &values));
    let Levels { inner, outer, results, .. } = levels;
    let mut inner_group = group.clone();
    inner_group.extend(values.into_iter().filter(|id| !group.contains(id)));
    let first = aggregate(source, inner_group, inner, estimate);
    let second = aggregate(first, group, outer, estimate);
    let output = results.iter().map(|(id, _)| *id).collect();
    if second.output == output {
        return second;
    }
    Plan::new(PlanOp::Project { input: Box::new(second), exprs: results }, output, estimate, Vec::new())
}

fn aggregate(
    input: Plan,
    group: Vec<ColId>,
    aggregates: Vec<(ColId, AggregateCall)>,
    estimate: muster_algebra::Estimate,
) -> Plan {
    let output = group.iter().copied().chain(aggregates.iter().map(|(id, _)| *id)).collect();
    let op = PlanOp::HashAggregate { input: Box::new(input), group, aggregates };
    Plan::new(op, output, estimate, Vec::new())
}

/// The input with the distinct values as columns, and these columns.
fn with_values(input: Plan, args: Vec<Expr>, columns: &mut Columns) -> (Plan, Vec<ColId>) {
    let mut exprs: Vec<(ColId, Expr)> = input.output.iter().map(|id| (*id, Expr::Column(*id))).collect();
    let values = args.into_iter().map(|arg| match arg {
        Expr::Column(id) => id,
        expr => {
            let id = columns.add_computed(expr_text::outermost(&expr, columns), expr.ty(columns), true);
            exprs.push((id, expr));
            id
        }
    });
    let values: Vec<ColId> = values.collect();
    if exprs.len() == input.output.len() {
        return (input, values);
    }
    let (output, estimate) = (exprs.iter().map(|(id, _)| *id).collect(), input.estimate);
    (Plan::new(PlanOp::Project { input: Box::new(input), exprs }, output, estimate, Vec::new()), values)
}

/// What the two levels compute.
struct Levels<'a> {
    columns: &'a mut Columns,
    inner: Vec<(ColId, AggregateCall)>,
    outer: Vec<(ColId, AggregateCall)>,
    /// Above both.
    results: Vec<(ColId, Expr)>,
}

impl Levels<'_> {
    fn add(&mut self, id: ColId, call: AggregateCall, values: &[ColId]) {
        if matters(&call) {
            let args = values.iter().map(|id| Expr::Column(*id)).collect();
            self.outer.push((id, AggregateCall { args, distinct: false, ..call }));
            self.results.push((id, Expr::Column(id)));
            return;
        }
        let AggregateCall { function, args, ty, .. } = call;
        let result = match function {
            AggregateFunction::Count => {
                let count = self.both(AggregateFunction::Count, args, SqlType::BIGINT, AggregateFunction::Sum);
                Expr::Call {
                    function: ScalarFunction::Coalesce,
                    args: vec![Expr::Column(count), Expr::int(0)],
                    ty: SqlType::BIGINT,
                }
            }
            AggregateFunction::Avg => self.average(args, ty),
            function => Expr::Column(self.both(function.clone(), args, ty, function)),
        };
        self.results.push((id, result));
    }

    fn average(&mut self, args: Vec<Expr>, ty: SqlType) -> Expr {
        let digits = args.first().and_then(|arg| arg.ty(self.columns).decimal_digits());
        let sum_type = match digits {
            Some((_, scale)) if !matches!(ty, SqlType::Double) => SqlType::decimal(65, u32::from(scale)),
            _ => SqlType::Double,
        };
        let sum = self.both(AggregateFunction::Sum, args.clone(), sum_type, AggregateFunction::Sum);
        let count = self.both(AggregateFunction::Count, args, SqlType::BIGINT, AggregateFunction::Sum);
        let quotient = Expr::Arithmetic {
            op: ArithmeticOp::Div,
            left: Box::new(Expr::Column(sum)),
            right: Box::new(Expr::Column(count)),
            ty,
        };
        let counted = Expr::compare(CompareOp::Gt, Expr::Column(count), Expr::int(0));
        Expr::Case { branches: vec![(counted, quotient)], otherwise: None, ty }
    }

    /// One column below and one above for each thing accumulated.
    fn both(&mut self, first: AggregateFunction, args: Vec<Expr>, ty: SqlType, second: AggregateFunction) -> ColId {
        let first = AggregateCall { function: first, args, distinct: false, ty };
        let name = expr_text::aggregate(&first, self.columns);
        let below = self.columns.add_computed(name.clone(), ty, true);
        let above = self.columns.add_computed(name, ty, true);
        self.inner.push((below, first));
        let args = vec![Expr::Column(below)];
        self.outer.push((above, AggregateCall { function: second, args, distinct: false, ty }));
        above
    }
}

/// Returns true if the call has a DISTINCT, and a value that comes twice would change its result.
fn matters(call: &AggregateCall) -> bool {
    use AggregateFunction::{AnyValue, BitAnd, BitOr, Max, Min};
    call.distinct && !matches!(call.function, Min | Max | AnyValue | BitAnd | BitOr)
}

/// Returns true if the call can be computed in two levels of grouping.
fn splits(call: &AggregateCall) -> bool {
    use AggregateFunction::{GroupConcat, JsonArrayAgg, JsonObjectAgg, StdDevPop, StdDevSamp, VarPop, VarSamp};
    match &call.function {
        GroupConcat { .. } | JsonArrayAgg | JsonObjectAgg => false,
        StdDevPop | StdDevSamp | VarPop | VarSamp => call.distinct,
        _ => true,
    }
}
