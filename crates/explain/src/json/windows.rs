//! The windows of a query block in the first JSON format (`windowing`).

use super::first::figure;
use crate::{
    document::Document,
    names::{Named, quote},
    query_block::WindowLine,
    window::{is_buffered, is_optimized, name},
};
use muster_algebra::{Columns, Expr, SortKey, WindowCall, WindowDefinition};

/// A window as the statement defines it, with its calls and the operator that computes them.
struct Defined<'a> {
    line: WindowLine<'a>,
    over: &'a WindowDefinition,
    calls: Vec<&'a WindowCall>,
    /// True if the operator sorts the rows for this window.
    filesort: bool,
}

/// The members of `windowing` that stand before the tables. `sorts_after`: rows are sorted or made distinct behind the
/// windows.
pub(super) fn document(windows: &[WindowLine<'_>], sorts_after: bool, columns: &Columns) -> Document {
    let defined: Vec<Defined<'_>> = windows.iter().flat_map(|line| defined(*line)).collect();
    let last = defined.len() - 1;
    let lines = defined.iter().enumerate().map(|(at, one)| {
        let window = one.line.window;
        let mut out = Document::object();
        out.add("name", one.over.name.as_deref().unwrap_or("<unnamed window>"));
        if last > 0 {
            out.add("definition_position", one.over.position);
            if at == last {
                out.add("last_executed_window", true);
            }
        }
        if at < last || sorts_after {
            out.add("using_temporary_table", true);
        }
        if one.filesort {
            out.add("using_filesort", true);
            let keys: Vec<String> = window.sort_keys().iter().map(|key| sort_key(key, columns)).collect();
            out.add_texts("filesort_key", &keys);
        }
        if one.calls.iter().any(|call| is_buffered(call)) {
            let mut buffer = Document::object();
            buffer.add("using_temporary_table", true);
            if one.calls.iter().all(|call| is_optimized(call, window)) {
                buffer.add("optimized_frame_evaluation", true);
            }
            out.add("frame_buffer", buffer);
        }
        out.add("functions", one.calls.iter().map(|call| name(&call.function).into()).collect::<Vec<Document>>());
        out
    });
    let lines = lines.collect::<Vec<_>>();
    let mut out = Document::object();
    out.add("windows", lines);
    if windows.iter().any(|line| line.filesort) {
        let mut cost = Document::object();
        cost.add("sort_cost", figure(windows.iter().map(|line| line.sort_ms).sum()));
        out.add("cost_info", cost);
    }
    out
}

/// The windows of the statement that one operator computes.
fn defined(line: WindowLine<'_>) -> Vec<Defined<'_>> {
    let mut found: Vec<Defined<'_>> = Vec::new();
    for (_, call) in &line.window.calls {
        match found.iter_mut().find(|known| *known.over == call.over) {
            Some(known) => known.calls.push(call),
            None => {
                let filesort = line.filesort && found.is_empty();
                found.push(Defined { line, over: &call.over, calls: vec![call], filesort });
            }
        }
    }
    found
}

fn sort_key(key: &SortKey, columns: &Columns) -> String {
    let text = match &key.expr {
        Expr::Column(id) => match &columns.get(*id).origin {
            Some(origin) => quote(&origin.column),
            None => columns.get(*id).name.clone(),
        },
        other => Named { columns, block: None }.text(other),
    };
    if key.descending { format!("{text} desc") } else { text }
}
