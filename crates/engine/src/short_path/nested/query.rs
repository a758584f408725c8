//! What a statement asks of some tables that are joined, or of none.

use super::{groups::GroupTotal, scalar::ScalarQuery, semi_join::LeadingTable};
use crate::short_path::{
    parameter_places::{has_parameter, parameters_are_compared},
    plan::{DEPTH_MAX, is_plain},
};
use muster_algebra::{
    AggregateCall, ColId, Columns, CompareOp, Expr, JoinKind, Rel, SortKey, Subquery, SubqueryKind, Switch, TableDef,
};
use muster_optimizer::Options;
use muster_sql::Bound;
use muster_types::SqlType;
use std::{cell::RefCell, collections::HashMap, sync::Arc};

/// Most tables.
const TABLES_MAX: usize = 4;
/// Most scalar subqueries, each of which may have as many tables.
const SCALARS_MAX: usize = 8;

/// A table of the query.
#[derive(Debug, Clone)]
pub struct QueryTable {
    pub def: Arc<TableDef>,
    pub alias: String,
    /// The query's columns, and their positions in the table.
    pub columns: Vec<(ColId, usize)>,
    /// The conditions of a LEFT JOIN, whose right side the table is. `None`: each row of the result has one of its
    /// rows.
    pub on: Option<Vec<Expr>>,
    /// How many of the tables before it are on the left side of that.
    pub after: usize,
    /// Set for the table of an EXISTS, whose conditions `on` are: true for NOT EXISTS.
    pub exists: Option<bool>,
}

/// Groups of rows.
#[derive(Debug, Clone)]
pub struct Grouping {
    /// The columns that the groups are made by, with what they are.
    pub by: Vec<(ColId, Expr)>,
    pub aggregates: Vec<(ColId, AggregateCall)>,
    pub having: Vec<Expr>,
}

/// What a statement asks: all expressions are over columns of the tables; those above a grouping over what that
/// delivers.
#[derive(Debug, Clone)]
pub struct TableQuery {
    pub tables: Vec<QueryTable>,
    /// The conditions of WHERE and of inner joins.
    pub filter: Vec<Expr>,
    /// Set if a table has to come first.
    pub leading: Option<LeadingTable>,
    pub grouping: Option<Grouping>,
    /// The subqueries whose values expressions have as columns.
    pub scalars: Vec<ScalarQuery>,
    pub outputs: Vec<Expr>,
    /// Set for SELECT EXISTS(..): the result says whether there are rows, with true for NOT EXISTS whether there are
    /// none.
    pub exists: Option<bool>,
    pub order: Vec<SortKey>,
    pub offset: u64,
    pub limit: Option<u64>,
    pub columns: Columns,
}

impl TableQuery {
    /// `None` if it is not a query that the short path knows.
    pub fn of(bound: &Bound) -> Option<TableQuery> {
        let mut reader = Reader::new(bound.columns.clone());
        if let Some((rel, negated)) = only_exists(bound) {
            reader.read_existence(rel, negated)?;
            return reader.finish(&[]);
        }
        reader.read(&bound.rel)?;
        let outputs: Vec<ColId> = bound.outputs.iter().map(|(id, _)| *id).collect();
        reader.finish(&outputs)
    }

    /// The query of a subquery that has one value. `None` if the short path does not know it, or has subqueries for
    /// its values itself.
    pub fn of_scalar(subquery: &Subquery, columns: Columns) -> Option<TableQuery> {
        let mut reader = Reader::new(columns);
        reader.read(&subquery.rel)?;
        reader.finish(&subquery.outputs).filter(|query| query.scalars.is_empty())
    }

    /// Returns true if no switch is off of what the plan does: lookups in other tables, rows in the order of an index,
    /// MIN and MAX from its ends, one row of each group.
    pub fn keeps_to(&self, options: &Options) -> bool {
        let is_on = |switch| options.is_on(switch);
        let looks_up = self.tables.len() < 2 || is_on(Switch::LookupJoin);
        let first_rows = self.limit.is_none() || is_on(Switch::PreferOrderingIndex);
        let in_order = self.order.is_empty() || is_on(Switch::IndexOrder) && first_rows;
        let groups = self.grouping.is_none() || is_on(Switch::MinMaxByIndex) && is_on(Switch::LooseIndexScan);
        looks_up && in_order && groups && self.scalars.iter().all(|scalar| scalar.query.keeps_to(options))
    }

    /// Returns true if all expressions can be evaluated for all values of parameters.
    fn is_known(&self) -> bool {
        let ty = |id: ColId| self.columns.ty(id);
        let conditions = self.filter.iter().chain(self.tables.iter().filter_map(|t| t.on.as_ref()).flatten());
        let having = self.grouping.iter().flat_map(|g| &g.having);
        let are_compared = conditions.clone().chain(having.clone()).all(|e| parameters_are_compared(e, &ty).is_some());
        let computed = self.outputs.iter().chain(self.order.iter().map(|key| &key.expr));
        let grouped = self
            .grouping
            .iter()
            .flat_map(|g| g.by.iter().map(|(_, e)| e).chain(g.aggregates.iter().flat_map(|(_, call)| &call.args)));
        let computed = computed.chain(grouped);
        let are_summed = self.grouping.iter().flat_map(|g| &g.aggregates).all(|(_, call)| {
            let types: Vec<SqlType> = call.args.iter().map(|arg| arg.ty(&self.columns)).collect();
            GroupTotal::is_known(call, &types)
        });
        are_compared
            && are_summed
            && computed.clone().all(|e| !has_parameter(e))
            && conditions.chain(having).chain(computed).all(|e| is_plain(e, DEPTH_MAX))
            && self.scalars.iter().all(|scalar| scalar.is_known_in(self))
    }
}

/// The relation of `SELECT EXISTS(..)`, and true for `SELECT NOT EXISTS(..)`.
fn only_exists(bound: &Bound) -> Option<(&Rel, bool)> {
    let Rel::Project { input, exprs } = &bound.rel else { return None };
    let ([(id, Expr::Subquery(subquery))], [(output, _)]) = (exprs.as_slice(), bound.outputs.as_slice()) else {
        return None;
    };
    let is_alone = matches!(&**input, Rel::Values { columns, rows } if columns.is_empty() && rows.len() == 1);
    match subquery.kind {
        SubqueryKind::Exists { negated } if is_alone && id == output => Some((&subquery.rel, negated)),
        _ => None,
    }
}

/// Reads a relation from its tables upward.
struct Reader {
    query: TableQuery,
    /// What computed columns are.
    computed: HashMap<ColId, Expr>,
    /// The tables of EXISTS, which come last.
    exists: Vec<QueryTable>,
    /// The subqueries that expressions have values of.
    scalars: RefCell<Vec<ScalarQuery>>,
    is_ordered: bool,
    is_limited: bool,
}

impl Reader {
    fn new(columns: Columns) -> Reader {
        Reader {
            query: TableQuery {
                tables: Vec::new(),
                filter: Vec::new(),
                leading: None,
                grouping: None,
                scalars: Vec::new(),
                outputs: Vec::new(),
                exists: None,
                order: Vec::new(),
                offset: 0,
                limit: None,
                columns,
            },
            computed: HashMap::new(),
            exists: Vec::new(),
            scalars: RefCell::default(),
            is_ordered: false,
            is_limited: false,
        }
    }

    /// The query that has been read, with these columns of its result.
    fn finish(mut self, outputs: &[ColId]) -> Option<TableQuery> {
        self.add_tables_of_exists()?;
        let outputs = outputs.iter().map(|id| self.expr(&Expr::Column(*id))).collect::<Option<Vec<_>>>()?;
        let query = TableQuery { outputs, scalars: self.scalars.into_inner(), ..self.query };
        query.is_known().then_some(query)
    }

    /// The expression with what its columns are in their places, and columns in those of scalar subqueries.
    fn expr(&self, expr: &Expr) -> Option<Expr> {
        let mut expr = expr.clone();
        self.replace(&mut expr, DEPTH_MAX)?;
        Some(expr)
    }

    fn replace(&self, expr: &mut Expr, depth: usize) -> Option<()> {
        if depth == 0 {
            return None;
        }
        match expr {
            Expr::Column(id) => {
                if let Some(is) = self.computed.get(id) {
                    *expr = is.clone();
                }
                Some(())
            }
            Expr::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                *expr = Expr::Column(self.scalar(subquery)?);
                Some(())
            }
            _ => expr.children_mut().into_iter().try_for_each(|child| self.replace(child, depth - 1)),
        }
    }

    /// The column that a scalar subquery becomes. One that is met again, such as by its alias, has the same.
    fn scalar(&self, subquery: &Subquery) -> Option<ColId> {
        let [id] = *subquery.outputs else { return None };
        if self.scalars.borrow().iter().any(|known| known.id == id) {
            return Some(id);
        }
        if subquery.outer.iter().any(|outer| self.computed.contains_key(outer)) {
            return None;
        }
        let query = TableQuery::of_scalar(subquery, self.query.columns.clone())?;
        let mut scalars = self.scalars.borrow_mut();
        scalars.push(ScalarQuery { id, query, outer: subquery.outer.clone() });
        (scalars.len() <= SCALARS_MAX).then_some(id)
    }

    fn conjuncts(&self, predicates: &[Expr]) -> Option<Vec<Expr>> {
        predicates.iter().cloned().flat_map(Expr::into_conjuncts).map(|e| self.expr(&e)).collect()
    }

    fn is_before_all(&self) -> bool {
        self.query.grouping.is_none() && !self.is_ordered && !self.is_limited
    }

    fn read(&mut self, rel: &Rel) -> Option<()> {
        match rel {
            Rel::Get { .. } | Rel::Join { .. } => self.read_tables(rel),
            Rel::Filter { input, predicates } => {
                self.read(input)?;
                if self.is_ordered || self.is_limited {
                    return None;
                }
                if self.query.grouping.is_none() {
                    return self.filter(predicates);
                }
                let conditions = self.conjuncts(predicates)?;
                self.query.grouping.as_mut()?.having.extend(conditions);
                Some(())
            }
            Rel::Project { input, exprs } => {
                self.read(input)?;
                self.project(exprs)
            }
            Rel::Aggregate { input, group, aggregates } => {
                self.read(input)?;
                if !self.is_before_all() || group.is_empty() && aggregates.is_empty() {
                    return None;
                }
                let by = group.iter().map(|id| Some((*id, self.expr(&Expr::Column(*id))?)));
                let by = by.collect::<Option<Vec<_>>>()?;
                let calls = aggregates.iter().map(|(id, call)| {
                    let args = call.args.iter().map(|arg| self.expr(arg)).collect::<Option<Vec<_>>>()?;
                    Some((*id, AggregateCall { args, ..call.clone() }))
                });
                let aggregates = calls.collect::<Option<Vec<_>>>()?;
                // From here on a column that groups are made by is what the grouping delivers.
                self.computed.clear();
                self.query.grouping = Some(Grouping { by, aggregates, having: Vec::new() });
                Some(())
            }
            Rel::Sort { input, keys } => {
                self.read(input)?;
                if self.is_ordered || self.is_limited {
                    return None;
                }
                self.is_ordered = true;
                let key = |key: &SortKey| Some(SortKey { expr: self.expr(&key.expr)?, descending: key.descending });
                self.query.order = keys.iter().map(key).collect::<Option<_>>()?;
                Some(())
            }
            Rel::Limit { input, offset, count } => {
                self.read(input)?;
                if self.is_limited {
                    return None;
                }
                self.is_limited = true;
                (self.query.offset, self.query.limit) = (*offset, *count);
                Some(())
            }
            // Without FROM.
            Rel::Values { columns, rows } => (columns.is_empty() && rows.len() == 1).then_some(()),
            Rel::Union { .. } | Rel::Window { .. } | Rel::Lateral { .. } | Rel::JsonTable { .. } => None,
            Rel::Recursive { .. } | Rel::Working { .. } | Rel::Rollup { .. } => None,
        }
    }

    /// Reads what stands in SELECT EXISTS: one row tells.
    fn read_existence(&mut self, rel: &Rel, negated: bool) -> Option<()> {
        self.read(rel)?;
        let query = &mut self.query;
        if query.grouping.is_some() || query.offset > 0 || query.limit == Some(0) || query.tables.is_empty() {
            return None;
        }
        query.order.clear();
        (query.exists, query.limit) = (Some(negated), Some(1));
        Some(())
    }

    /// The conditions of WHERE; those that are EXISTS or IN become tables.
    fn filter(&mut self, predicates: &[Expr]) -> Option<()> {
        for condition in predicates.iter().cloned().flat_map(Expr::into_conjuncts) {
            let Expr::Subquery(subquery) = &condition else {
                let condition = self.expr(&condition)?;
                self.query.filter.push(condition);
                continue;
            };
            let table = match &subquery.kind {
                SubqueryKind::Exists { negated } => self.table_of_exists(&subquery.rel, *negated)?,
                SubqueryKind::In { left, negated: false } => self.table_of_in(left, subquery)?,
                _ => return None,
            };
            self.exists.push(table);
        }
        Some(())
    }

    /// The table of an IN that is a condition: there is a row that is equal.
    fn table_of_in(&self, left: &[Expr], subquery: &Subquery) -> Option<QueryTable> {
        let mut table = self.table_of_exists(&subquery.rel, false)?;
        for (left, output) in left.iter().zip(&subquery.outputs) {
            table.position(*output)?;
            let equal = Expr::compare(CompareOp::Eq, self.expr(left)?, Expr::Column(*output));
            table.on.as_mut()?.push(equal);
        }
        Some(table)
    }

    /// The table of an EXISTS over one table.
    fn table_of_exists(&self, rel: &Rel, negated: bool) -> Option<QueryTable> {
        match rel {
            Rel::Project { input, .. } => self.table_of_exists(input, negated),
            Rel::Filter { input, predicates } => {
                let mut table = self.table_of_exists(input, negated)?;
                table.on.as_mut()?.extend(self.conjuncts(predicates)?);
                Some(table)
            }
            Rel::Get { table, alias, columns, hints } if hints.is_empty() && !table.id.is_virtual() => {
                let (def, alias, columns) = (table.clone(), alias.clone(), columns.clone());
                Some(QueryTable { def, alias, columns, on: Some(Vec::new()), after: 0, exists: Some(negated) })
            }
            _ => None,
        }
    }

    /// They are read when all others have been.
    fn add_tables_of_exists(&mut self) -> Option<()> {
        let after = self.query.tables.len();
        let tables = std::mem::take(&mut self.exists).into_iter().map(|table| QueryTable { after, ..table });
        self.query.tables.extend(tables);
        let is_alone = after == 0 && !self.query.tables.is_empty();
        (!is_alone && self.query.tables.len() <= TABLES_MAX).then_some(())
    }

    fn project(&mut self, exprs: &[(ColId, Expr)]) -> Option<()> {
        let computed = exprs.iter().map(|(id, expr)| Some((*id, self.expr(expr)?)));
        let computed = computed.collect::<Option<Vec<_>>>()?;
        self.computed.extend(computed.into_iter().filter(|(id, expr)| !matches!(expr, Expr::Column(of) if of == id)));
        Some(())
    }

    /// Reads what stands behind FROM.
    fn read_tables(&mut self, rel: &Rel) -> Option<()> {
        match rel {
            Rel::Get { table, alias, columns, hints } => {
                if !hints.is_empty() || table.id.is_virtual() || self.query.tables.len() == TABLES_MAX {
                    return None;
                }
                let (def, alias, columns) = (table.clone(), alias.clone(), columns.clone());
                let table = QueryTable { def, alias, columns, on: None, after: 0, exists: None };
                self.query.tables.push(table);
                Some(())
            }
            Rel::Filter { input, predicates } => {
                self.read_tables(input)?;
                self.filter(predicates)
            }
            Rel::Project { input, exprs } => {
                self.read_tables(input)?;
                self.project(exprs)
            }
            Rel::Join { kind: JoinKind::Inner, left, right, on, straight: false } => {
                self.read_tables(left)?;
                self.read_tables(right)?;
                let conditions = self.conjuncts(on)?;
                self.query.filter.extend(conditions);
                Some(())
            }
            Rel::Join { kind: JoinKind::Left, left, right, on, straight: false } => {
                self.read_tables(left)?;
                let before = self.query.tables.len();
                if !matches!(**right, Rel::Get { .. }) {
                    return None;
                }
                self.read_tables(right)?;
                let on = self.conjuncts(on)?;
                let table = self.query.tables.last_mut()?;
                (table.on, table.after) = (Some(on), before);
                Some(())
            }
            _ => None,
        }
    }
}
