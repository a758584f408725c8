//! Queries over the DBT-3 and SSB tables and two small ones.

mod catalog;
mod constructs;
mod dml;
mod errors;
mod print;
mod types;
mod workloads;

use super::*;
use crate::{Statement, parse};
use catalog::{TestCatalog, TestSession};
use print::print;

/// Binds one query in database `test` with these parameters.
fn bind_with(sql: &str, parameters: &[Value]) -> Result<Bound> {
    let catalog = TestCatalog::shared();
    let session = TestSession::default();
    let env = BindEnv { catalog, session: &session, parameters: parameters.into() };
    match parse(sql)? {
        Statement::Query(query) => bind_query(&query, &env),
        other => panic!("{sql} is {other:?}"),
    }
}

fn bind(sql: &str) -> Bound {
    let bound = bind_with(sql, &[]).unwrap_or_else(|e| panic!("{sql}\n{e}"));
    check(&bound, sql);
    bound
}

fn error(sql: &str) -> (u16, String) {
    match bind_with(sql, &[]) {
        Err(e) => (e.code.number(), e.message),
        Ok(b) => panic!("{sql} bound as\n{}", print(&b)),
    }
}

/// Checks what holds for every bound query: each column made once, mentioned only where it is there, comparisons of one
/// type.
fn check(bound: &Bound, sql: &str) {
    let mut made = std::collections::HashSet::new();
    check_rel(&bound.rel, &bound.columns, &mut made, &[], sql);
    let output = bound.rel.output();
    for (id, name) in &bound.outputs {
        assert!(output.contains(id), "{sql}: result column {name} is not there");
    }
}

fn check_rel(rel: &Rel, columns: &Columns, made: &mut std::collections::HashSet<ColId>, outer: &[ColId], sql: &str) {
    let mut seen: Vec<ColId> = rel.inputs().iter().flat_map(|r| r.output()).collect();
    let new: Vec<ColId> = match rel {
        Rel::Get { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
        Rel::Values { columns, .. } | Rel::Union { columns, .. } => columns.clone(),
        Rel::Project { exprs, .. } => {
            exprs.iter().filter(|(id, e)| *e != Expr::Column(*id)).map(|(id, _)| *id).collect()
        }
        Rel::Aggregate { aggregates, .. } => aggregates.iter().map(|(id, _)| *id).collect(),
        Rel::Rollup { rollup, .. } => rollup.columns().collect(),
        Rel::Window { window, .. } => window.calls.iter().map(|(id, _)| *id).collect(),
        _ => Vec::new(),
    };
    for id in new {
        assert!(made.insert(id), "{sql}: column {id:?} is made twice");
    }
    let output = rel.output();
    let distinct: std::collections::HashSet<_> = output.iter().collect();
    assert_eq!(distinct.len(), output.len(), "{sql}: a column twice in {output:?}");
    seen.extend(outer);
    if let Rel::Aggregate { group, .. } = rel {
        assert!(group.iter().all(|g| seen.contains(g)), "{sql}: grouped by a column that is not there");
    }
    for expr in rel.exprs() {
        for id in expr.columns() {
            assert!(seen.contains(&id), "{sql}: {id:?} ({}) is not there", columns.get(id).name);
        }
        expr.visit(&mut |e| check_expr(e, columns, sql));
        expr.visit(&mut |e| {
            if let Expr::Subquery(q) = e {
                for id in &q.outer {
                    assert!(seen.contains(id), "{sql}: outer {id:?} is not there");
                }
                check_rel(&q.rel, columns, made, &q.outer, sql);
                assert!(q.outputs.iter().all(|o| q.rel.output().contains(o)), "{sql}: subquery without its output");
            }
        });
    }
    for input in rel.inputs() {
        check_rel(input, columns, made, outer, sql);
    }
}

fn check_expr(expr: &Expr, columns: &Columns, sql: &str) {
    let same = |a: SqlType, b: SqlType| match (a, b) {
        (SqlType::Text { collation: a, .. }, SqlType::Text { collation: b, .. }) => a == b,
        (SqlType::Bytes { .. }, SqlType::Bytes { .. }) => true,
        _ => a == b,
    };
    match expr {
        Expr::Compare { left, right, .. } => {
            let (l, r) = (left.ty(columns), right.ty(columns));
            assert!(same(l, r), "{sql}: {l} compared with {r}");
        }
        Expr::InList { arg, list, .. } => {
            for item in list {
                assert!(same(arg.ty(columns), item.ty(columns)), "{sql}: IN over different types");
            }
        }
        Expr::Logic { args, .. } => assert!(args.iter().all(|a| a.ty(columns) == SqlType::Bool), "{sql}: {expr:?}"),
        Expr::Arithmetic { left, right, ty, .. } => {
            let family = |t: SqlType| match t {
                SqlType::Int { unsigned, .. } => (0, unsigned),
                SqlType::Decimal { .. } => (1, false),
                SqlType::Double => (2, false),
                other => panic!("{sql}: arithmetic on {other}"),
            };
            assert_eq!(family(left.ty(columns)), family(right.ty(columns)), "{sql}: {expr:?}");
            let _ = ty;
        }
        Expr::Case { branches, otherwise, ty } => {
            for result in branches.iter().map(|(_, r)| r).chain(otherwise.as_deref()) {
                assert_eq!(result.ty(columns), *ty, "{sql}: CASE of different types");
            }
        }
        Expr::Subquery(q) => match &q.kind {
            muster_algebra::SubqueryKind::In { left, .. } => {
                for (l, r) in left.iter().zip(&q.outputs) {
                    assert!(same(l.ty(columns), columns.ty(*r)), "{sql}: IN over different types");
                }
            }
            muster_algebra::SubqueryKind::Compare { left, .. } => {
                assert!(same(left.ty(columns), columns.ty(q.outputs[0])), "{sql}: ANY over different types");
            }
            _ => {}
        },
        _ => {}
    }
}
