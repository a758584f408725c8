//! A small builder of relations for tests.

use crate::Options;
use crate::rewrite::RewriteContext;
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, ColumnDef, ColumnMeta, Columns, CompareOp, Expr, IndexDef, JoinKind, Rel,
    Subquery, SubqueryKind, TableDef, TableId,
};
use muster_types::Result;
use muster_types::{Collation, KeyPart, SqlType, Value};
use std::sync::Arc;

/// Makes tables of INT columns; the first column is the primary key.
pub struct Tables {
    pub columns: Columns,
    next: u64,
}

/// A table read under its own name.
pub struct Table {
    pub rel: Rel,
    pub ids: Vec<ColId>,
}

impl Table {
    pub fn pair(self) -> (Rel, ColId, ColId) {
        (self.rel, self.ids[0], self.ids[1])
    }
}

/// Something that stands for an expression: a column, a number, or an expression.
pub trait IntoExpr {
    fn expr(self) -> Expr;
}

impl IntoExpr for ColId {
    fn expr(self) -> Expr {
        Expr::Column(self)
    }
}

impl IntoExpr for i64 {
    fn expr(self) -> Expr {
        Expr::literal(Value::Int(self), SqlType::INT)
    }
}

impl IntoExpr for Expr {
    fn expr(self) -> Expr {
        self
    }
}

impl Tables {
    pub fn new() -> Tables {
        Tables { columns: Columns::default(), next: 1 }
    }

    /// A table of nullable INT columns, the first one its primary key.
    pub fn table(&mut self, name: &str, names: &[&str]) -> Table {
        self.table_with(name, names, |_| {})
    }

    pub fn table_with(&mut self, name: &str, names: &[&str], change: impl FnOnce(&mut TableDef)) -> Table {
        let columns = names.iter().enumerate().map(|(i, name)| ColumnDef::plain(*name, SqlType::INT, i > 0)).collect();
        let mut def = TableDef {
            id: TableId(self.next),
            database: "test".into(),
            name: name.into(),
            columns,
            indexes: vec![index(0, "PRIMARY", &[0], true)],
            collation: Collation::DEFAULT,
            comment: String::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        };
        change(&mut def);
        self.next += 1;
        self.get(Arc::new(def))
    }

    /// One more use of a table.
    pub fn get(&mut self, table: Arc<TableDef>) -> Table {
        let ids: Vec<ColId> = table
            .columns
            .iter()
            .map(|c| {
                let meta =
                    ColumnMeta { name: c.name.clone(), ty: c.ty, nullable: c.nullable, origin: None, decimals: None };
                self.columns.add(meta)
            })
            .collect();
        let columns = ids.iter().copied().zip(0..).collect();
        let rel = Rel::Get { alias: table.name.clone(), table, columns, hints: Vec::new() };
        Table { rel, ids }
    }

    pub fn computed(&mut self, name: &str) -> ColId {
        self.columns.add_computed(name, SqlType::INT, true)
    }

    /// Runs a pass.
    pub fn run(&mut self, pass: fn(Rel, &mut RewriteContext<'_>) -> Result<Rel>, rel: Rel) -> Rel {
        let options = Options::default();
        pass(
            rel,
            &mut RewriteContext { columns: &mut self.columns, options: &options, in_subquery_has_a_choice: false },
        )
        .expect("the pass works")
    }

    pub fn aggregate(
        &mut self,
        input: Rel,
        group: &[ColId],
        function: AggregateFunction,
        arg: Option<ColId>,
    ) -> (Rel, ColId) {
        let id = self.columns.add_computed("aggregate", SqlType::BIGINT, true);
        let args = arg.into_iter().map(Expr::Column).collect();
        let call = AggregateCall { function, args, distinct: false, ty: SqlType::BIGINT };
        (Rel::Aggregate { input: Box::new(input), group: group.to_vec(), aggregates: vec![(id, call)] }, id)
    }
}

pub fn index(id: u32, name: &str, columns: &[usize], unique: bool) -> IndexDef {
    let parts = columns.iter().map(|c| KeyPart { column: *c, prefix: None, descending: false }).collect();
    IndexDef { id, name: name.into(), parts, unique, invisible: false }
}

pub fn compare(op: CompareOp, left: impl IntoExpr, right: impl IntoExpr) -> Expr {
    Expr::compare(op, left.expr(), right.expr())
}

pub fn eq(left: impl IntoExpr, right: impl IntoExpr) -> Expr {
    compare(CompareOp::Eq, left, right)
}

pub fn lt(left: impl IntoExpr, right: impl IntoExpr) -> Expr {
    compare(CompareOp::Lt, left, right)
}

pub fn in_list(arg: ColId, list: &[i64]) -> Expr {
    let list = list.iter().map(|i| i.expr()).collect();
    Expr::InList { arg: Box::new(Expr::Column(arg)), list, negated: false }
}

pub fn is_null(arg: impl IntoExpr) -> Expr {
    Expr::IsNull { arg: Box::new(arg.expr()), negated: false }
}

pub fn not_null(arg: impl IntoExpr) -> Expr {
    Expr::IsNull { arg: Box::new(arg.expr()), negated: true }
}

pub fn filter(input: Rel, predicates: Vec<Expr>) -> Rel {
    Rel::Filter { input: Box::new(input), predicates }
}

pub fn join(left: Rel, right: Rel, on: Vec<Expr>) -> Rel {
    join_of(JoinKind::Inner, left, right, on)
}

pub fn join_of(kind: JoinKind, left: Rel, right: Rel, on: Vec<Expr>) -> Rel {
    Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, straight: false }
}

pub fn project(input: Rel, exprs: Vec<(ColId, Expr)>) -> Rel {
    Rel::Project { input: Box::new(input), exprs }
}

pub fn subquery(kind: SubqueryKind, rel: Rel, outputs: &[ColId]) -> Expr {
    let outer = crate::scope::free_columns(&rel).into_iter().collect();
    Expr::Subquery(Box::new(Subquery { kind, rel: Box::new(rel), outputs: outputs.to_vec(), outer }))
}
