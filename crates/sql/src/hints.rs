//! Optimizer hints: the text of `/*+ ... */` (manual 10.9.3).

use crate::Query;
use muster_types::{ErrorCode, SqlError};
use sqlparser::ast::{self, SetExpr};

/// One hint, as written: `BKA(@qb t1, t2)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizerHint {
    /// In upper case.
    pub name: String,
    /// `@qb` in front of the arguments.
    pub query_block: Option<String>,
    pub arguments: Vec<String>,
}

/// The hints of MySQL 8.4.
const KNOWN: &[&str] = &[
    "BKA",
    "NO_BKA",
    "BNL",
    "NO_BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "GROUP_INDEX",
    "NO_GROUP_INDEX",
    "HASH_JOIN",
    "NO_HASH_JOIN",
    "INDEX",
    "NO_INDEX",
    "INDEX_MERGE",
    "NO_INDEX_MERGE",
    "JOIN_FIXED_ORDER",
    "JOIN_INDEX",
    "NO_JOIN_INDEX",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
    "MAX_EXECUTION_TIME",
    "MERGE",
    "NO_MERGE",
    "MRR",
    "NO_MRR",
    "NO_ICP",
    "NO_RANGE_OPTIMIZATION",
    "ORDER_INDEX",
    "NO_ORDER_INDEX",
    "QB_NAME",
    "RESOURCE_GROUP",
    "SEMIJOIN",
    "NO_SEMIJOIN",
    "SKIP_SCAN",
    "NO_SKIP_SCAN",
    "SET_VAR",
    "SUBQUERY",
];

/// The milliseconds of `/*+ MAX_EXECUTION_TIME(n) */`, which counts only in the first SELECT of a statement.
pub fn max_execution_time(query: &Query) -> Option<u64> {
    let select = first_select(&query.ast.body)?;
    let (mut found, mut warnings) = (Vec::new(), Vec::new());
    select.optimizer_hints.iter().for_each(|h| collect(&h.text, &mut found, &mut warnings));
    let hint = found.into_iter().find(|h| h.name == "MAX_EXECUTION_TIME")?;
    hint.arguments.first()?.parse().ok()
}

fn first_select(mut body: &SetExpr) -> Option<&ast::Select> {
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::Query(query) => &query.body,
            SetExpr::SetOperation { left, .. } => left,
            _ => return None,
        }
    }
}

/// Adds the hints of one comment to `found`. What is no hint is left out with a warning.
pub(crate) fn collect(text: &str, found: &mut Vec<OptimizerHint>, warnings: &mut Vec<SqlError>) {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest[..end].to_ascii_uppercase();
        rest = rest[end..].trim_start();
        let body = match rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
            Some((body, after)) => {
                rest = after.trim_start();
                body
            }
            None => "",
        };
        if !KNOWN.contains(&name.as_str()) {
            let near: String = format!("{name}{rest}").chars().take(80).collect();
            let message = format!("Optimizer hint syntax error near '{near}'");
            warnings.push(SqlError::new(ErrorCode::Parse, message));
            if name.is_empty() {
                return;
            }
            continue;
        }
        found.push(hint(name, body));
    }
}

fn hint(name: String, body: &str) -> OptimizerHint {
    let (query_block, list) = match body.trim().strip_prefix('@') {
        Some(block) => {
            let end = block.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(block.len());
            (Some(block[..end].trim_matches('`').to_string()), &block[end..])
        }
        None => (None, body),
    };
    let arguments = list
        .split(|c: char| c == ',' || c.is_whitespace())
        .map(|a| a.trim_matches('`'))
        .filter(|a| !a.is_empty())
        .map(str::to_string)
        .collect();
    OptimizerHint { name, query_block, arguments }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_read_and_others_warned_of() {
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        collect(
            " bka(@qb1 t1, `t2`) NO_ICP(t idx) SET_VAR(a=1) nonsense(1) JOIN_FIXED_ORDER() ",
            &mut found,
            &mut warnings,
        );
        let names: Vec<&str> = found.iter().map(|h| h.name.as_str()).collect();
        assert_eq!(names, ["BKA", "NO_ICP", "SET_VAR", "JOIN_FIXED_ORDER"]);
        assert_eq!(found[0].query_block.as_deref(), Some("qb1"));
        assert_eq!(found[0].arguments, ["t1", "t2"]);
        assert_eq!(found[1].arguments, ["t", "idx"]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].message.contains("NONSENSE"));
    }

    #[test]
    fn time_limits_of_the_first_select() {
        let limit = |sql: &str| match crate::parse(sql) {
            Ok(crate::Statement::Query(query)) => max_execution_time(&query),
            other => panic!("{other:?}"),
        };
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1"), Some(1000));
        assert_eq!(limit("(SELECT /*+ NO_ICP(t) max_execution_time(5) */ 1) UNION SELECT 2"), Some(5));
        assert_eq!(limit("SELECT 1 FROM (SELECT /*+ MAX_EXECUTION_TIME(1) */ 1) t"), None);
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(x) */ 1"), None);
    }
}
