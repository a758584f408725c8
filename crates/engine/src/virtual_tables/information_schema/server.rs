//! COLLATIONS, CHARACTER_SETS, ENGINES, PROCESSLIST, variables and status.

use super::{optional, text, uint};
use crate::{accounts::Privilege, charset, explain, statement::StatementContext};
use muster_types::{Collation, Value, charset::Charset};

pub(super) fn collations() -> Vec<Vec<Value>> {
    let row = |c: &Collation| {
        vec![
            text(c.name()),
            text(c.charset()),
            uint(c.id().into()),
            text(if charset::is_default(*c) { "Yes" } else { "" }),
            text("Yes"),
            uint(c.sort_length().into()),
            text(if c.pad_space() { "PAD SPACE" } else { "NO PAD" }),
        ]
    };
    Collation::all().iter().map(row).collect()
}

pub(super) fn applicability() -> Vec<Vec<Value>> {
    Collation::all().iter().map(|c| vec![text(c.name()), text(c.charset())]).collect()
}

pub(super) fn character_sets() -> Vec<Vec<Value>> {
    let row = |c: &Charset| {
        let default = c.default_collation().name();
        vec![text(c.name()), text(default), text(c.description()), uint(c.max_bytes().into())]
    };
    Charset::all().iter().map(row).collect()
}

pub(super) fn engines() -> Vec<Vec<Value>> {
    // Named as clients expect it: the one engine, index-organised.
    let comment = "Index-organised tables of columnar pages (Muster)";
    let mut row: Vec<Value> = ["InnoDB", "DEFAULT", comment].map(text).into();
    row.extend(["NO", "NO", "NO"].map(text));
    vec![row]
}

/// The traces that the session keeps.
pub(super) fn optimizer_trace(context: &StatementContext) -> Vec<Vec<Value>> {
    let row = |(query, trace, missing)| vec![Value::Text(query), Value::Text(trace), uint(missing), Value::Int(0)];
    explain::trace_rows(context).into_iter().map(row).collect()
}

/// Own sessions only, without the PROCESS privilege.
pub(super) fn processlist(context: &StatementContext) -> Vec<Vec<Value>> {
    let rights = &context.rights;
    let all = rights.global().has(Privilege::Process);
    context
        .database
        .processes()
        .into_iter()
        .filter(|p| all || p.user == rights.user)
        .map(|p| {
            vec![
                uint(p.id.into()),
                text(p.user),
                text(p.host),
                optional(p.database, Value::Text),
                text(p.command),
                Value::Int(i64::try_from(p.seconds).unwrap_or(i64::MAX).min(i32::MAX.into())),
                text(p.state),
                optional(p.statement, Value::Text),
            ]
        })
        .collect()
}

pub(super) fn pairs(pairs: Vec<(String, String)>) -> Vec<Vec<Value>> {
    pairs.into_iter().map(|(name, value)| vec![Value::Text(name), Value::Text(value)]).collect()
}
