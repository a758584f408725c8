//! The meaning of names: the columns of a FROM clause, those of the queries around it, and WITH tables.

use super::{binder::Aggregates, dml::RelationSource, recursion::WorkingTable, select::Selected};
use crate::statement::ItemTexts;
use muster_algebra::{ColId, Definer};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::ast;
use std::{cell::RefCell, rc::Rc};

/// A table of a FROM clause under its name there.
#[derive(Debug, Clone)]
pub(crate) struct Relation {
    /// `None` for a derived table.
    pub database: Option<String>,
    pub alias: String,
    pub source: RelationSource,
}

impl Relation {
    /// A relation whose rows cannot be changed.
    pub fn derived(alias: &str) -> Relation {
        Relation { database: None, alias: alias.to_string(), source: RelationSource::Derived }
    }

    /// Returns true if both have one name.
    fn has_name_of(&self, other: &Relation) -> bool {
        (&self.database, &self.alias) == (&other.database, &other.alias)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct FromColumn {
    /// Position in [`FromClause::relations`].
    pub relation: usize,
    pub name: String,
    pub id: ColId,
    /// True if it counts only where it is named.
    pub invisible: bool,
}

/// The columns of a FROM clause.
#[derive(Debug, Clone, Default)]
pub(crate) struct FromClause {
    pub relations: Vec<Relation>,
    /// Table by table, in each table's order.
    pub columns: Vec<FromColumn>,
    /// Positions in `columns`: what `*` shows, in order, and what an unqualified name can mean. `*` leaves out those
    /// that are invisible. A column joined by
    /// USING or NATURAL is there once.
    pub visible: Vec<usize>,
}

impl FromClause {
    /// One relation with these columns.
    pub fn single(relation: Relation, columns: Vec<(String, ColId)>) -> FromClause {
        let columns: Vec<FromColumn> =
            columns.into_iter().map(|(name, id)| FromColumn { relation: 0, name, id, invisible: false }).collect();
        FromClause { relations: vec![relation], visible: (0..columns.len()).collect(), columns }
    }

    /// Positions of the columns that `*` shows.
    pub fn shown(&self) -> Vec<usize> {
        self.visible.iter().copied().filter(|i| !self.columns[*i].invisible).collect()
    }

    /// Both sides of a join. Error 1066 when a name is taken.
    pub fn join(self, other: FromClause) -> Result<FromClause> {
        for r in &other.relations {
            if self.relations.iter().any(|own| own.has_name_of(r)) {
                return Err(SqlError::table_not_unique(&r.alias));
            }
        }
        Ok(self.beside(other))
    }

    /// The columns of both, whatever the names of their tables: a name that both have is ambiguous.
    pub fn beside(mut self, other: FromClause) -> FromClause {
        let (relations, columns) = (self.relations.len(), self.columns.len());
        self.relations.extend(other.relations);
        self.columns.extend(other.columns.into_iter().map(|c| FromColumn { relation: c.relation + relations, ..c }));
        self.visible.extend(other.visible.into_iter().map(|i| i + columns));
        self
    }

    /// The column of this name, `[[db,] table,] column`; error 1052 when there are several.
    pub fn find(&self, parts: &[&str], clause: &str) -> Result<Option<ColId>> {
        let (name, qualifier) = match parts {
            [.., name] => (*name, &parts[..parts.len() - 1]),
            [] => return Ok(None),
        };
        let mut found: Option<ColId> = None;
        let mut look = |c: &FromColumn| {
            if !c.name.eq_ignore_ascii_case(name) || !self.matches(&self.relations[c.relation], qualifier) {
                return Ok(());
            }
            match found {
                Some(id) if id != c.id => Err(SqlError::new(
                    ErrorCode::NonUniq,
                    format!("Column '{}' in {clause} is ambiguous", parts.join(".")),
                )),
                _ => {
                    found = Some(c.id);
                    Ok(())
                }
            }
        };
        if qualifier.is_empty() {
            self.visible.iter().try_for_each(|i| look(&self.columns[*i]))?;
        } else {
            self.columns.iter().try_for_each(look)?;
        }
        Ok(found)
    }

    /// The table that a column is of.
    pub fn relation_of(&self, id: ColId) -> Option<&Relation> {
        self.columns.iter().find(|c| c.id == id).map(|c| &self.relations[c.relation])
    }

    /// Returns true if `table` or `db.table` names the relation. Table names are exact, as on Linux.
    pub fn matches(&self, relation: &Relation, qualifier: &[&str]) -> bool {
        match qualifier {
            [] => true,
            [table] => relation.alias == *table,
            [database, table] => relation.alias == *table && relation.database.as_deref() == Some(database),
            _ => false,
        }
    }
}

/// A FROM clause and those of the queries around it, inside out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'p> {
    pub from: &'p FromClause,
    pub parent: Option<&'p Scope<'p>>,
    /// The names and places that the query offers to a subquery in the clause that is being bound.
    pub offered: Offered<'p>,
}

/// The names and places of a query that its subqueries may use besides its tables. They depend on the clause in which a
/// subquery stands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Offered<'p> {
    /// Takes aggregate functions over the query's own columns; `None` in WHERE, ON, GROUP BY and within another
    /// aggregate function.
    pub aggregates: Option<&'p RefCell<Aggregates>>,
    /// True within the arguments of an aggregate function.
    pub is_aggregated: bool,
    /// The items of the select list that are bound.
    pub selected: &'p [Selected<'p>],
    /// The items of the select list from the one on that is being bound.
    pub unbound: &'p [ast::SelectItem],
}

impl<'p> Scope<'p> {
    /// The names of a FROM clause that has no query around it.
    pub fn of(from: &'p FromClause) -> Scope<'p> {
        Scope::within(from, None)
    }

    /// The names of a FROM clause in a subquery of `parent`.
    pub fn within(from: &'p FromClause, parent: Option<&'p Scope<'p>>) -> Scope<'p> {
        Scope { from, parent, offered: Offered::default() }
    }

    /// How many queries outwards the one is whose FROM clause has the column.
    pub fn distance(&self, id: ColId) -> Option<usize> {
        match self.from.columns.iter().any(|column| column.id == id) {
            true => Some(0),
            false => Some(1 + self.parent?.distance(id)?),
        }
    }

    /// This scope and those around it, inside out.
    pub fn outwards(&self) -> impl Iterator<Item = &Scope<'p>> {
        std::iter::successors(Some(self), |scope| scope.parent)
    }

    /// Looks inside first, then outwards.
    pub fn find(&self, parts: &[&str], clause: &str) -> Result<Option<ColId>> {
        match self.from.find(parts, clause)? {
            Some(id) => Ok(Some(id)),
            None => match self.parent {
                Some(parent) => parent.find(parts, clause),
                None => Ok(None),
            },
        }
    }
}

/// A table of a WITH clause. It sees those before it.
#[derive(Debug)]
pub(crate) struct Cte<'p> {
    pub ast: &'p ast::Cte,
    /// True within WITH RECURSIVE: its query may mention it.
    pub is_recursive: bool,
    pub before: Option<Rc<Cte<'p>>>,
    pub outer: Option<&'p Scope<'p>>,
}

/// The names that a query sees besides its own tables.
#[derive(Debug, Clone)]
pub(crate) struct Names<'p> {
    /// The current database; of a view, its own.
    pub database: Option<&'p str>,
    /// Whose rights count instead of the user's, inside a view.
    pub definer: Option<&'p Definer>,
    pub ctes: Option<Rc<Cte<'p>>>,
    /// The recursive tables whose queries are being bound.
    pub working: Option<Rc<WorkingTable<'p>>>,
    /// The query around it.
    pub outer: Option<&'p Scope<'p>>,
    /// Within brackets of a FROM clause: the tables to the left of these, which lateral tables see.
    pub beside: Option<&'p Scope<'p>>,
    /// The texts of SELECT items as they were written.
    pub written: &'p ItemTexts,
    /// True if the statement assigns to user variables within expressions, so that their values are read row by row.
    pub assigns: bool,
    /// How many views are around.
    pub view_depth: usize,
    /// How many WITH tables are around.
    pub cte_depth: usize,
}

impl<'p> Names<'p> {
    /// The names of a statement of the user, outside of any view and WITH table.
    pub fn of_statement(database: Option<&'p str>, written: &'p ItemTexts) -> Names<'p> {
        Names {
            database,
            definer: None,
            ctes: None,
            working: None,
            outer: None,
            beside: None,
            written,
            assigns: false,
            view_depth: 0,
            cte_depth: 0,
        }
    }

    /// The same names in a statement that assigns to user variables, or does not.
    pub fn assigning(self, assigns: bool) -> Names<'p> {
        Names { assigns, ..self }
    }

    /// The same names for a query in place of a table or within an expression, `outer` around it.
    pub fn inside(&self, outer: Option<&'p Scope<'p>>) -> Names<'p> {
        Names { outer, beside: None, ..self.clone() }
    }

    /// What lateral tables see: the tables to the left of brackets and the query around.
    pub fn seen_by_lateral(&self) -> Option<&'p Scope<'p>> {
        self.beside.or(self.outer)
    }

    /// The WITH table of this name, the nearest first.
    pub fn cte(&self, name: &str) -> Option<Rc<Cte<'p>>> {
        let mut link = self.ctes.clone();
        while let Some(cte) = link {
            if cte.ast.alias.name.value == name {
                return Some(cte);
            }
            link = cte.before.clone();
        }
        None
    }
}

/// The clause an expression stands in, by MySQL's name of it in error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    FieldList,
    Where,
    On,
    GroupBy,
    Having,
    OrderBy,
    WindowPartitionBy,
    WindowOrderBy,
    /// The argument of JSON_TABLE.
    TableFunction,
}

impl Clause {
    pub fn name(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::GroupBy => "group statement",
            Clause::Having => "having clause",
            Clause::OrderBy => "order clause",
            Clause::WindowPartitionBy => "window partition by",
            Clause::WindowOrderBy => "window order by",
            Clause::TableFunction => "a table function argument",
        }
    }
}
