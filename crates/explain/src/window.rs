//! Window functions as MySQL prints them: `sum(t.a) OVER (PARTITION BY t.b ORDER BY t.c ROWS 1 PRECEDING)`.

use muster_algebra::{
    AggregateFunction, ColId, Expr, Frame, FrameBound, FrameUnits, SortKey, Window, WindowCall, WindowFunction,
};

/// The texts of a window's calls. `expr` and `sort_key` print what they consist of.
pub(crate) fn calls(
    window: &Window,
    expr: &dyn Fn(&Expr) -> String,
    sort_key: &dyn Fn(&SortKey) -> String,
) -> Vec<(ColId, String)> {
    let mut division = Vec::new();
    if !window.partition.is_empty() {
        let keys: Vec<String> = window.partition.iter().map(expr).collect();
        division.push(format!("PARTITION BY {}", keys.join(",")));
    }
    if !window.order.is_empty() {
        let keys: Vec<String> = window.order.iter().map(sort_key).collect();
        division.push(format!("ORDER BY {}", keys.join(",")));
    }
    let text = |call: &WindowCall| {
        let mut parts = division.clone();
        if call.function.uses_frame() {
            parts.extend(frame(&call.frame, !window.order.is_empty(), expr));
        }
        format!("{} OVER ({} )", function(&call.function, expr), parts.join(" "))
    };
    window.calls.iter().map(|(id, call)| (*id, text(call))).collect()
}

fn function(function: &WindowFunction, expr: &dyn Fn(&Expr) -> String) -> String {
    use WindowFunction::*;
    match function {
        RowNumber => "row_number()".into(),
        Rank => "rank()".into(),
        DenseRank => "dense_rank()".into(),
        PercentRank => "percent_rank()".into(),
        CumeDist => "cume_dist()".into(),
        Ntile { buckets } => format!("ntile({buckets})"),
        Shifted { value, offset, forward, default } => {
            let name = if *forward { "lead" } else { "lag" };
            let default = default.as_ref().map(|e| format!(",{}", expr(e))).unwrap_or_default();
            format!("{name}({},{offset}{default})", expr(value))
        }
        FirstValue(value) => format!("first_value({})", expr(value)),
        LastValue(value) => format!("last_value({})", expr(value)),
        NthValue { value, number } => format!("nth_value({},{number})", expr(value)),
        Aggregate(call) => {
            let args: Vec<String> = call.args.iter().map(expr).collect();
            let args = if args.is_empty() { "0".into() } else { args.join(",") };
            format!("{}({args})", aggregate_name(&call.function))
        }
    }
}

fn aggregate_name(function: &AggregateFunction) -> &'static str {
    match function {
        AggregateFunction::Count => "count",
        AggregateFunction::Sum => "sum",
        AggregateFunction::Avg => "avg",
        AggregateFunction::Min => "min",
        AggregateFunction::Max => "max",
        AggregateFunction::AnyValue => "any_value",
        AggregateFunction::GroupConcat { .. } => "group_concat",
        AggregateFunction::StdDevPop => "std",
        AggregateFunction::StdDevSamp => "stddev_samp",
        AggregateFunction::VarPop => "variance",
        AggregateFunction::VarSamp => "var_samp",
        AggregateFunction::BitAnd => "bit_and",
        AggregateFunction::BitOr => "bit_or",
        AggregateFunction::BitXor => "bit_xor",
    }
}

/// The frame, unless it is the one that a window without a frame clause has.
fn frame(frame: &Frame, ordered: bool, expr: &dyn Fn(&Expr) -> String) -> Option<String> {
    let is_default = match ordered {
        true => {
            (&frame.units, &frame.start, &frame.end)
                == (&FrameUnits::Range, &FrameBound::UnboundedPreceding, &FrameBound::CurrentRow)
        }
        false => *frame == Frame::whole(),
    };
    let units = match frame.units {
        FrameUnits::Rows => "ROWS",
        FrameUnits::Range => "RANGE",
    };
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".into(),
        FrameBound::RowsBefore(n) => format!("{n} PRECEDING"),
        FrameBound::Before(bound) => format!("{} PRECEDING", expr(&bound.value)),
        FrameBound::CurrentRow => "CURRENT ROW".into(),
        FrameBound::After(bound) => format!("{} FOLLOWING", expr(&bound.value)),
        FrameBound::RowsAfter(n) => format!("{n} FOLLOWING"),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".into(),
    };
    (!is_default).then(|| format!("{units} BETWEEN {} AND {}", bound(&frame.start), bound(&frame.end)))
}
