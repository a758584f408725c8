//! Expressions with names in backticks, as MySQL writes them into JSON and into rewritten queries.

use crate::query_block::{QueryBlock, computed_name, shown_name};
use muster_algebra::{BlockPlace, ColId, Columns, CompareOp, Expr, LogicOp, SqlType, expr_text::Printer};

/// A name in backticks.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A table as `` `database`.`table` ``.
pub fn table_of(database: &str, table: &str) -> String {
    format!("{}.{}", quote(database), quote(table))
}

/// A table as FROM names it, with its alias if that is another name.
pub fn from_table(database: &str, table: &str, alias: &str) -> String {
    let name = table_of(database, table);
    if alias == table { name } else { format!("{name} {}", quote(alias)) }
}

/// A column as `` `database`.`table`.`column` ``.
pub fn column_of(database: &str, table: &str, column: &str) -> String {
    format!("{}.{}", table_of(database, table), quote(column))
}

/// A column as `` `database`.`table`.`column` ``; of a derived table without the database; what is computed, as it was
/// written.
pub fn column_text(columns: &Columns, id: ColId) -> String {
    let meta = columns.get(id);
    let place = columns.blocks.made(id).and_then(|block| columns.blocks.get(block)).map(|block| &block.place);
    match (&meta.origin, place) {
        (Some(origin), _) if origin.database.is_empty() => {
            format!("{}.{}", quote(&origin.alias), quote(&origin.column))
        }
        (Some(origin), _) => column_of(&origin.database, &origin.alias, &origin.column),
        (None, Some(BlockPlace::Derived(alias))) => format!("{}.{}", quote(alias), quote(&shown_name(columns, id))),
        (None, _) => meta.name.clone(),
    }
}

/// Expressions of a statement with names in backticks.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub columns: &'a Columns,
    /// The block that the expressions stand in: it reads the rows of blocks inside of it under names of its own.
    pub block: Option<&'a QueryBlock<'a>>,
}

impl Named<'_> {
    /// An expression, with the parentheses around the whole.
    pub fn text(&self, expr: &Expr) -> String {
        self.printed(&self.as_written(expr))
    }

    /// All conditions together.
    pub fn conditions(&self, conditions: &[Expr]) -> String {
        let conditions: Vec<Expr> = conditions.iter().map(|condition| self.as_written(condition)).collect();
        let mut texts = Vec::new();
        let mut rest = conditions.as_slice();
        while let [first, others @ ..] = rest {
            rest = others;
            if let Some(between) = others.first().and_then(|second| self.between(first, second)) {
                texts.push(between);
                rest = &others[1..];
            } else {
                texts.push(self.printed(first));
            }
        }
        match texts.as_slice() {
            [] => "true".into(),
            [one] => one.clone(),
            many => format!("({})", many.join(" and ")),
        }
    }

    /// `a >= x` and `a <= y`, which is how BETWEEN is bound.
    fn between(&self, low: &Expr, high: &Expr) -> Option<String> {
        let (
            Expr::Compare { op: CompareOp::GtEq, left: a, right: x },
            Expr::Compare { op: CompareOp::LtEq, left: b, right: y },
        ) = (low, high)
        else {
            return None;
        };
        (a == b).then(|| format!("({} between {} and {})", self.printed(a), self.printed(x), self.printed(y)))
    }

    fn printed(&self, expr: &Expr) -> String {
        if let Expr::Logic { op: LogicOp::And, args } = expr {
            return self.conditions(args);
        }
        let name = |id| self.column(id);
        Printer { name: &name, subplan: &|_| "(select)".into(), subquery: &|_| "(select)".into() }.expr(expr)
    }

    fn column(&self, id: ColId) -> String {
        match self.block.and_then(|block| computed_name(block, id, self.columns)) {
            Some(name) => format!("{}.{}", quote(&name), quote(&shown_name(self.columns, id))),
            None => column_text(self.columns, id),
        }
    }

    /// Without the casts between numbers that binding adds.
    fn as_written(&self, expr: &Expr) -> Expr {
        expr.clone().rewrite(&mut |e| match e {
            Expr::Cast { arg, ty } if is_number(ty) && is_number(arg.ty(self.columns)) => *arg,
            other => other,
        })
    }
}

fn is_number(ty: SqlType) -> bool {
    matches!(
        ty,
        SqlType::Int { .. } | SqlType::Decimal { .. } | SqlType::Double | SqlType::Float | SqlType::Unsigned(_)
    )
}
