//! The foreign keys of one state of all tables, by the tables that take part in them: their columns and indexes, looked
//! up once for all statements.

use crate::catalog::Snapshot;
use muster_algebra::{ForeignKey, TableDef, TableId};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// One of the two tables of a foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySide {
    pub table: TableId,
    /// Positions of the columns, in the order of the key.
    pub columns: Vec<usize>,
    /// Position of the first index that begins with the columns.
    pub index: usize,
}

/// A foreign key as the tables are now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub key: ForeignKey,
    /// Database and name of the child.
    pub database: String,
    pub table: String,
    /// `None`: the child's columns have no index, which is so only where keys were made without checks.
    pub child: Option<KeySide>,
    /// `None`: the parent is missing, or has no such columns or no index.
    pub parent: Option<KeySide>,
}

impl Reference {
    fn of(definitions: &Snapshot, child: &TableDef, key: &ForeignKey) -> Reference {
        let parent = definitions.table(&key.database, &key.table).ok();
        Reference {
            key: key.clone(),
            database: child.database.clone(),
            table: child.name.clone(),
            child: KeySide::of(child, &key.columns),
            parent: parent.and_then(|parent| KeySide::of(&parent.def, &key.referenced)),
        }
    }

    /// Returns true if parent and child are one table.
    pub fn is_of_itself(&self) -> bool {
        let table = |side: &Option<KeySide>| side.as_ref().map(|side| side.table);
        self.parent.is_some() && table(&self.parent) == table(&self.child)
    }

    /// InnoDB's name of the constraint, in whose order the keys of one index are looked at.
    fn id(&self) -> (&str, &str) {
        (&self.database, &self.key.name)
    }
}

impl KeySide {
    /// The columns of these names; `None` if one is missing, or no index begins with them.
    pub fn of(table: &TableDef, names: &[String]) -> Option<KeySide> {
        let columns = table.positions(names)?;
        let index = leading_index(table, &columns)?;
        Some(KeySide { table: table.id, columns, index })
    }
}

/// The first index of a table that begins with these columns, as wholes.
pub fn leading_index(table: &TableDef, columns: &[usize]) -> Option<usize> {
    table.indexes.iter().position(|index| index.begins_with(columns))
}

/// The foreign keys that a table takes part in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Family {
    /// Its own, in the order of their indexes.
    pub parents: Vec<Arc<Reference>>,
    /// Those that refer to it, its own among them, in the order of its indexes.
    pub children: Vec<Arc<Reference>>,
}

/// The families of all tables that take part in foreign keys.
#[derive(Debug, Default, Clone)]
pub struct Families(HashMap<TableId, Arc<Family>>);

impl Families {
    pub fn of(definitions: &Snapshot) -> Families {
        let mut families: HashMap<TableId, Family> = HashMap::new();
        for entry in definitions.all_tables() {
            for key in &entry.def.foreign_keys {
                let reference = Arc::new(Reference::of(definitions, &entry.def, key));
                if let Some(parent) = &reference.parent {
                    families.entry(parent.table).or_default().children.push(Arc::clone(&reference));
                }
                families.entry(entry.def.id).or_default().parents.push(reference);
            }
        }
        for family in families.values_mut() {
            let index = |side: &Option<KeySide>| side.as_ref().map_or(usize::MAX, |side| side.index);
            family.parents.sort_by(|a, b| (index(&a.child), a.id()).cmp(&(index(&b.child), b.id())));
            family.children.sort_by(|a, b| (index(&a.parent), a.id()).cmp(&(index(&b.parent), b.id())));
        }
        Families(families.into_iter().map(|(id, family)| (id, Arc::new(family))).collect())
    }

    /// The foreign keys of a table; `None` if it takes part in none.
    pub fn of_table(&self, table: TableId) -> Option<&Arc<Family>> {
        self.0.get(&table)
    }

    /// The tables that changes of rows of these tables lead to, each with whether its rows are changed, too: parents
    /// are looked at, children looked at or changed, and what is changed has parents and children of its own.
    pub fn reached(&self, tables: impl IntoIterator<Item = TableId>) -> BTreeMap<TableId, bool> {
        let mut reached = BTreeMap::new();
        let mut changed: Vec<TableId> = tables.into_iter().collect();
        let mut at = 0;
        while let Some(family) = changed.get(at).copied().map(|table| self.of_table(table)) {
            at += 1;
            let Some(family) = family else { continue };
            for parent in family.parents.iter().filter_map(|reference| reference.parent.as_ref()) {
                reached.entry(parent.table).or_insert(false);
            }
            for reference in &family.children {
                let Some(child) = &reference.child else { continue };
                let changes = reference.key.on_delete.changes_rows() || reference.key.on_update.changes_rows();
                *reached.entry(child.table).or_insert(false) |= changes;
                if changes && !changed.contains(&child.table) {
                    changed.push(child.table);
                }
            }
        }
        reached
    }
}
