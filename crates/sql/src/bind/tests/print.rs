//! Relations and expressions as short text, for tests to compare.

use super::*;
use muster_algebra::{CompareOp, LogicOp, Subquery, SubqueryKind};

pub fn print(bound: &Bound) -> String {
    let mut out = String::new();
    rel(&bound.rel, &bound.columns, 0, &mut out);
    out
}

fn name(id: ColId, columns: &Columns) -> String {
    let meta = columns.get(id);
    match (&meta.origin, meta.name.is_empty()) {
        (Some(o), _) => format!("{}.{}", o.alias, o.column),
        (None, true) => "?".into(),
        (None, false) => format!("`{}`", meta.name),
    }
}

fn list<'a>(ids: impl IntoIterator<Item = &'a ColId>, columns: &Columns) -> String {
    ids.into_iter().map(|id| name(*id, columns)).collect::<Vec<_>>().join(", ")
}

fn exprs<'a>(es: impl IntoIterator<Item = &'a Expr>, columns: &Columns) -> String {
    es.into_iter().map(|e| expr(e, columns)).collect::<Vec<_>>().join(", ")
}

fn rel(r: &Rel, columns: &Columns, depth: usize, out: &mut String) {
    let line = match r {
        Rel::Get { alias, .. } => format!("get {alias}"),
        Rel::Values { rows, .. } => format!("values {}", rows.len()),
        Rel::Filter { predicates, .. } => format!("filter {}", exprs(predicates, columns)),
        Rel::Project { exprs, .. } => {
            let parts: Vec<String> = exprs
                .iter()
                .map(|(id, e)| if *e == Expr::Column(*id) { name(*id, columns) } else { expr(e, columns) })
                .collect();
            format!("project {}", parts.join(", "))
        }
        Rel::Join { kind, on, straight, .. } => {
            let straight = if *straight { " straight" } else { "" };
            format!("{kind:?}{straight} join {}", exprs(on, columns)).trim_end().to_lowercase()
        }
        Rel::Aggregate { group, aggregates, .. } => {
            let calls: Vec<String> = aggregates
                .iter()
                .map(|(_, a)| {
                    let distinct = if a.distinct { "distinct " } else { "" };
                    let function = format!("{:?}", a.function).to_lowercase();
                    let function = function.split([' ', '{']).next().unwrap_or_default().to_string();
                    format!("{function}({distinct}{})", exprs(&a.args, columns))
                })
                .collect();
            format!("aggregate [{}] {}", list(group, columns), calls.join(", ")).trim_end().to_string()
        }
        Rel::JsonTable { table, keeps, .. } => {
            format!("{}json table {}", if *keeps { "left " } else { "" }, expr(&table.document, columns))
        }
        Rel::Lateral { rows, keeps, .. } => {
            format!("{}lateral {}", if *keeps { "left " } else { "" }, expr(rows, columns))
        }
        Rel::Rollup { rollup, .. } => {
            format!("rollup [{}]", list(&rollup.sources().collect::<Vec<_>>(), columns))
        }
        Rel::Working { name, .. } => format!("working {name}"),
        Rel::Recursive { recursion, .. } => format!("recursive {}", recursion.name),
        Rel::Window { window, .. } => {
            let keys = |list: &[Expr]| exprs(list, columns);
            let order: Vec<Expr> = window.order.iter().map(|k| k.expr.clone()).collect();
            format!("window {} by [{}] in [{}]", window.calls.len(), keys(&window.partition), keys(&order))
        }
        Rel::Sort { keys, .. } => {
            let keys: Vec<String> = keys
                .iter()
                .map(|k| format!("{}{}", expr(&k.expr, columns), if k.descending { " desc" } else { "" }))
                .collect();
            format!("sort {}", keys.join(", "))
        }
        Rel::Limit { offset, count, .. } => format!("limit {offset}, {count:?}"),
        Rel::Union { inputs, .. } => format!("union {}", inputs.len()),
    };
    out.push_str(&"  ".repeat(depth));
    out.push_str(&line);
    out.push('\n');
    r.inputs().into_iter().for_each(|i| rel(i, columns, depth + 1, out));
}

pub fn expr(e: &Expr, columns: &Columns) -> String {
    match e {
        Expr::Column(id) => name(*id, columns),
        Expr::Literal { value, .. } => value.to_string(),
        Expr::Parameter { index, .. } => format!("?{index}"),
        Expr::Cast { arg, ty } => format!("cast({} as {ty})", expr(arg, columns)),
        Expr::Compare { op, left, right } => {
            let op = match op {
                CompareOp::Eq => "=",
                CompareOp::NotEq => "<>",
                CompareOp::Lt => "<",
                CompareOp::LtEq => "<=",
                CompareOp::Gt => ">",
                CompareOp::GtEq => ">=",
                CompareOp::NullSafeEq => "<=>",
            };
            format!("{} {op} {}", expr(left, columns), expr(right, columns))
        }
        Expr::Logic { op, args } => {
            let op = match op {
                LogicOp::And => " and ",
                LogicOp::Or => " or ",
                LogicOp::Xor => " xor ",
            };
            format!("({})", args.iter().map(|a| expr(a, columns)).collect::<Vec<_>>().join(op))
        }
        Expr::Not(arg) => format!("not({})", expr(arg, columns)),
        Expr::IsNull { arg, negated } => format!("{} is {}null", expr(arg, columns), not(*negated)),
        Expr::IsTruth { arg, truth, negated } => format!("{} is {}{truth}", expr(arg, columns), not(*negated)),
        Expr::Arithmetic { op, left, right, .. } => {
            format!("({} {op:?} {})", expr(left, columns), expr(right, columns)).to_lowercase()
        }
        Expr::Negate { arg, .. } => format!("-{}", expr(arg, columns)),
        Expr::InList { arg, list, negated } => {
            format!("{} {}in ({})", expr(arg, columns), not(*negated), exprs(list, columns))
        }
        Expr::Like { arg, pattern, negated, .. } => {
            format!("{} {}like {}", expr(arg, columns), not(*negated), expr(pattern, columns))
        }
        Expr::Case { branches, otherwise, .. } => {
            let mut text = "case".to_string();
            for (c, r) in branches {
                text += &format!(" when {} then {}", expr(c, columns), expr(r, columns));
            }
            match otherwise {
                Some(o) => format!("{text} else {} end", expr(o, columns)),
                None => format!("{text} end"),
            }
        }
        Expr::Call { function, args, .. } => format!("{function:?}({})", exprs(args, columns)).to_lowercase(),
        Expr::Subquery(q) => subquery(q, columns),
        Expr::Subplan(_) => "subplan".into(),
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

fn subquery(q: &Subquery, columns: &Columns) -> String {
    let mut inner = String::new();
    rel(&q.rel, columns, 0, &mut inner);
    let inner = inner.trim_end().split('\n').map(str::trim).collect::<Vec<_>>().join(" < ");
    let outer = match q.outer.is_empty() {
        true => String::new(),
        false => format!(" of {}", list(&q.outer, columns)),
    };
    let kind = match &q.kind {
        SubqueryKind::Rows => "rows".to_string(),
        SubqueryKind::Scalar => "scalar".to_string(),
        SubqueryKind::Exists { negated } => format!("{}exists", not(*negated)),
        SubqueryKind::In { left, negated } => format!("({}) {}in", exprs(left, columns), not(*negated)),
        SubqueryKind::Compare { left, op, quantifier } => {
            format!("{} {op:?} {quantifier:?}", expr(left, columns)).to_lowercase()
        }
    };
    format!("{kind}{outer} {{{inner}}}")
}
