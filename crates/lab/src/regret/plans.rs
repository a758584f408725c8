//! Which of the candidates are plans worth a run: hints that are followed, and plans that differ from those before.

use super::forced::Forced;
use crate::runner::{rows_of, text_of};
use muster_engine::{Session, session::Level, types::Result};
use std::collections::HashSet;

/// A plan that is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The hints, as in the text; empty for the plan that the optimizer chooses.
    pub hints: String,
    /// The statement.
    pub text: String,
    /// The estimated milliseconds.
    pub estimate_ms: f64,
    /// FORMAT=TREE.
    pub tree: String,
}

/// What became of the candidates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plans {
    /// The chosen plan and then the forced ones, all different.
    pub plans: Vec<Plan>,
    /// The number of candidates that were explained.
    pub explained: usize,
    /// The number of them whose plan was another one's.
    pub same: usize,
    /// Hints that the plan does not show, or that the optimizer warned of.
    pub not_followed: Vec<String>,
}

/// A tree without its figures: two plans with the same shape are the same plan.
pub fn shape(tree: &str) -> String {
    tree.lines().map(|line| line.split("  (cost=").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The milliseconds on the first line of a tree; 0 if it has none.
pub fn estimate_ms(tree: &str) -> f64 {
    let cost = tree.split("(cost=").nth(1).and_then(|rest| rest.split([' ', ')']).next());
    cost.and_then(|cost| cost.parse().ok()).unwrap_or(0.0)
}

/// Explains the query and its candidates until there are `max` forced plans.
pub async fn find(session: &mut Session, sql: &str, candidates: &[Forced], max: usize) -> Result<Plans> {
    let mut found = Plans::default();
    let chosen = explain(session, &Forced::default(), sql).await?;
    let mut shapes = HashSet::from([shape(&chosen.tree)]);
    found.plans.push(chosen);
    for candidate in candidates {
        if found.plans.len() > max {
            break;
        }
        found.explained += 1;
        // A forced plan that cannot be made is one that was not followed.
        let Ok(plan) = explain(session, candidate, sql).await else {
            found.not_followed.push(candidate.hints.join(" "));
            continue;
        };
        // The rewritten query is a note.
        let warned = session.diagnostics().iter().any(|(level, _)| *level != Level::Note);
        let tables = match candidate.asks_for_tables() {
            true => tables(session, &plan.text).await?,
            false => Vec::new(),
        };
        if warned || !candidate.is_followed(&plan.tree, &tables) {
            found.not_followed.push(plan.hints);
        } else if shapes.insert(shape(&plan.tree)) {
            found.plans.push(plan);
        } else {
            found.same += 1;
        }
    }
    Ok(found)
}

/// The tables of the traditional EXPLAIN, in its order.
async fn tables(session: &mut Session, text: &str) -> Result<Vec<String>> {
    let rows = rows_of(session, &format!("EXPLAIN {text}")).await?;
    Ok(rows.into_iter().filter_map(|mut row| row.get_mut(2)?.take()).collect())
}

async fn explain(session: &mut Session, forced: &Forced, sql: &str) -> Result<Plan> {
    let text = forced.text(sql);
    let tree = text_of(&rows_of(session, &format!("EXPLAIN FORMAT=TREE {text}")).await?);
    Ok(Plan { hints: forced.hints.join(" "), text, estimate_ms: estimate_ms(&tree), tree })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_no_part_of_a_shape() {
        let tree = |cost: &str| format!("-> Sort: a  (cost={cost} rows=1)\n    -> Table scan on t  (cost=0.1 rows=9)");
        assert_eq!(shape(&tree("1.5")), shape(&tree("2.5e3")));
        assert_ne!(shape(&tree("1.5")), shape("-> Sort: a\n    -> Table scan on u"));
        assert_eq!((estimate_ms(&tree("2.5e3")), estimate_ms("-> Rows")), (2500.0, 0.0));
    }
}
