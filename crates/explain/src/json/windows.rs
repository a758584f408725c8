//! The windows of a query block in the first JSON format (`windowing`).

use crate::{
    document::Document,
    names::{Named, quote},
    query_block::WindowLine,
    window::{is_buffered, is_optimized, name},
};
use muster_algebra::{Columns, Expr, SortKey};

/// The members of `windowing` that stand before the tables. A plan does not know the names of its windows.
pub(super) fn document(windows: &[WindowLine<'_>], columns: &Columns) -> Document {
    let lines = windows.iter().enumerate().map(|(at, line)| {
        let WindowLine { window, filesort } = *line;
        let mut out = Document::object();
        out.add("name", "<unnamed window>");
        if windows.len() > 1 {
            if at + 1 == windows.len() {
                out.add("last_executed_window", true);
            }
            out.add("using_temporary_table", true);
        }
        if filesort {
            out.add("using_filesort", true);
            let keys: Vec<String> = window.sort_keys().iter().map(|key| sort_key(key, columns)).collect();
            out.add_texts("filesort_key", &keys);
        }
        let calls = || window.calls.iter().map(|(_, call)| call);
        if calls().any(is_buffered) {
            let mut buffer = Document::object();
            buffer.add("using_temporary_table", true);
            if calls().all(|call| is_optimized(call, window)) {
                buffer.add("optimized_frame_evaluation", true);
            }
            out.add("frame_buffer", buffer);
        }
        out.add("functions", calls().map(|call| name(&call.function).into()).collect::<Vec<Document>>());
        out
    });
    let mut out = Document::object();
    out.add("windows", lines.collect::<Vec<_>>());
    out
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
