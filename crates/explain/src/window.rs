//! Window functions as MySQL prints them: `sum(t.a) OVER (PARTITION BY t.b ORDER BY t.c ROWS 1 PRECEDING)`.

use crate::names::quote;
use muster_algebra::{
    AggregateFunction, ColId, Expr, Frame, FrameBound, FrameUnits, SortKey, SqlType, Window, WindowCall, WindowFunction,
};

/// The texts of a window's calls. `expr` and `sort_key` print what they consist of; `by_name`: a window of the WINDOW
/// clause is told by its name.
pub(crate) fn calls(
    window: &Window,
    expr: &dyn Fn(&Expr) -> String,
    sort_key: &dyn Fn(&SortKey) -> String,
    by_name: bool,
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
        if let (Some(name), true) = (&call.over.name, by_name) {
            return format!("{} OVER {}", function(&call.function, expr), plain_or_quoted(name));
        }
        let mut parts = division.clone();
        if call.function.uses_frame() {
            parts.extend(frame(&call.frame, !window.order.is_empty(), expr));
        }
        format!("{} OVER ({} )", function(&call.function, expr), parts.join(" "))
    };
    window.calls.iter().map(|(id, call)| (*id, text(call))).collect()
}

/// A name as MySQL prints one where it quotes only those that need it.
fn plain_or_quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if name.chars().all(is_plain) { name.to_string() } else { quote(name) }
}

/// The operator as MySQL calls it: a window is buffered if a function looks at rows behind the current one or at the
/// number of rows, and takes several passes if a frame that moves is computed anew for each row.
pub(crate) fn operator(window: &Window) -> &'static str {
    let calls = || window.calls.iter().map(|(_, call)| call);
    match (calls().any(is_buffered), calls().all(|call| is_optimized(call, window))) {
        (false, _) => "Window aggregate",
        (true, true) => "Window aggregate with buffering",
        (true, false) => "Window multi-pass aggregate with buffering",
    }
}

/// Returns true if MySQL keeps the rows of the frame.
pub(crate) fn is_buffered(call: &WindowCall) -> bool {
    use WindowFunction::*;
    match &call.function {
        RowNumber | Rank | DenseRank => false,
        PercentRank | CumeDist | Ntile { .. } | Shifted { .. } => true,
        FirstValue(_) | LastValue(_) | NthValue { .. } | Aggregate(_) => {
            (&call.frame.units, &call.frame.start, &call.frame.end)
                != (&FrameUnits::Rows, &FrameBound::UnboundedPreceding, &FrameBound::CurrentRow)
        }
    }
}

/// Returns true if MySQL computes the function of a row's frame from that of the row before (or from both ends).
pub(crate) fn is_optimized(call: &WindowCall, window: &Window) -> bool {
    let WindowFunction::Aggregate(aggregate) = &call.function else { return true };
    let Frame { start, end, .. } = &call.frame;
    let is_whole = (start, end) == (&FrameBound::UnboundedPreceding, &FrameBound::UnboundedFollowing);
    use AggregateFunction::*;
    is_whole
        || match aggregate.function {
            Sum | Avg => call.ty != SqlType::Double || *start == FrameBound::UnboundedPreceding,
            Min | Max => window.order.first().is_some_and(|key| aggregate.args.first() == Some(&key.expr)),
            StdDevPop | StdDevSamp | VarPop | VarSamp => false,
            _ => true,
        }
}

/// The name of a function.
pub(crate) fn name(function: &WindowFunction) -> &'static str {
    use WindowFunction::*;
    match function {
        RowNumber => "row_number",
        Rank => "rank",
        DenseRank => "dense_rank",
        PercentRank => "percent_rank",
        CumeDist => "cume_dist",
        Ntile { .. } => "ntile",
        Shifted { forward: true, .. } => "lead",
        Shifted { forward: false, .. } => "lag",
        FirstValue(_) => "first_value",
        LastValue(_) => "last_value",
        NthValue { .. } => "nth_value",
        Aggregate(call) => call.function.name(),
    }
}

fn function(function: &WindowFunction, expr: &dyn Fn(&Expr) -> String) -> String {
    use WindowFunction::*;
    let args = match function {
        RowNumber | Rank | DenseRank | PercentRank | CumeDist => String::new(),
        Ntile { buckets } => buckets.to_string(),
        Shifted { value, offset, default, .. } => {
            let default = default.as_ref().map(|e| format!(",{}", expr(e))).unwrap_or_default();
            format!("{},{offset}{default}", expr(value))
        }
        FirstValue(value) | LastValue(value) => expr(value),
        NthValue { value, number } => format!("{},{number}", expr(value)),
        Aggregate(call) if call.args.is_empty() => "0".into(),
        Aggregate(call) => call.args.iter().map(expr).collect::<Vec<_>>().join(","),
    };
    format!("{}({args})", name(function))
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
