//! Queries whose EXISTS says which rows of the other tables there are to look up: `id IN (SELECT user_id FROM comments
//! WHERE product_id = 5)`. The table of the EXISTS is read first, and those of its rows that the other tables cannot
//! tell apart count as one, so that each row of the result comes once.

use super::query::TableQuery;
use muster_algebra::{ColId, CompareOp, Expr};

/// The table that a query begins with.
#[derive(Debug, Clone)]
pub struct LeadingTable {
    pub table: usize,
    /// Its columns that other tables are compared with.
    pub columns: Vec<ColId>,
}

impl TableQuery {
    /// The same query led by the table of an EXISTS, for each of which that is possible.
    pub fn led_by_exists(&self) -> Vec<TableQuery> {
        (0..self.tables.len()).filter_map(|table| self.led_by(table)).collect()
    }

    fn led_by(&self, table: usize) -> Option<TableQuery> {
        let of = self.tables.get(table).filter(|of| of.exists == Some(false))?;
        let mut columns = Vec::new();
        for condition in of.on.iter().flatten() {
            if condition.columns().into_iter().any(|id| of.position(id).is_none()) {
                columns.push(self.told_by(table, condition)?);
            }
        }
        let mut query = self.clone();
        let of = query.tables.get_mut(table).filter(|_| !columns.is_empty())?;
        (of.exists, of.after) = (None, 0);
        query.filter.extend(of.on.take()?);
        query.leading = Some(LeadingTable { table, columns });
        Some(query)
    }

    /// The column of a table that a condition says is equal to something of other tables: then a row of those goes with
    /// one value of it.
    fn told_by(&self, table: usize, condition: &Expr) -> Option<ColId> {
        let Expr::Compare { op: CompareOp::Eq, left, right } = condition else { return None };
        let of = &self.tables[table];
        let is_of_others = |expr: &Expr| expr.columns().into_iter().all(|id| of.position(id).is_none());
        let (column, other) = match (&**left, &**right) {
            (Expr::Column(id), other) if of.position(*id).is_some() => (*id, other),
            (other, Expr::Column(id)) => (*id, other),
            _ => return None,
        };
        let (ty, other_ty) = (self.columns.ty(column), other.ty(&self.columns));
        let is_alike = !ty.is_text() || ty.collation() == other_ty.collation();
        (of.position(column).is_some() && is_of_others(other) && is_alike).then_some(column)
    }
}
