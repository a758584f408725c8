//! What EXPLAIN takes from the events of the optimizer: the keys that a path was made for, the conditions of tables,
//! the rewritten query.

use crate::statement::StatementContext;
use muster_algebra::{Plan, Rel};
use muster_explain::StatementFacts;
use muster_optimizer::trace::{Event, TracedTable};

/// What was noted while a statement was planned.
#[derive(Default)]
pub struct Noted {
    pub facts: StatementFacts,
    /// The relation that the plan was made of.
    pub rewritten: Option<Box<Rel>>,
}

impl Noted {
    /// Reads the events of the statement that this plan was made for, which stay there for a trace.
    pub fn of(context: &StatementContext, plan: &Plan) -> Noted {
        let Some(trace) = context.trace.get() else { return Noted::default() };
        let events = trace.take();
        let mut noted = Noted::default();
        let mut relation = None;
        for event in &events {
            match event {
                Event::Rewritten { relation: latest } => relation = Some(latest),
                // A statement may be planned in several ways.
                Event::Planned { plan: made, .. } if noted.rewritten.is_none() || made.estimate == plan.estimate => {
                    noted.rewritten = relation.cloned();
                }
                Event::Paths { table, conjuncts, paths, .. } => {
                    let facts = noted.entry(table);
                    facts.conjuncts.clone_from(conjuncts);
                    let restricted = paths.iter().filter(|path| path.is_restricted(conjuncts));
                    facts.possible_keys.extend(restricted.map(|path| path.index));
                    let ranged = paths.iter().filter(|path| path.ranges.is_some());
                    facts.rows_read.extend(ranged.map(|path| ((path.index, path.skips), path.rows)));
                    let is_unique = |index: usize| table.table.indexes[index].unique;
                    let skipped = paths.iter().filter(|path| path.skips && path.covering && !is_unique(path.index));
                    facts.skipped_keys.extend(skipped.map(|path| path.index));
                }
                Event::Keys { table, index, .. } => {
                    noted.entry(table).possible_keys.insert(*index);
                }
                _ => {}
            }
        }
        events.into_iter().for_each(|event| trace.note(|| event));
        noted
    }

    fn entry(&mut self, table: &TracedTable) -> &mut muster_explain::TableFacts {
        self.facts.entry(&table.table.database, &table.table.name, &table.alias)
    }
}
