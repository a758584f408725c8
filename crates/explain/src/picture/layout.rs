//! Where the boxes of a picture stand: inputs below their operator, the first one straight below it, the others to the
//! right, as far left as no box of a row is in the way.

use super::read::PlanBox;
use std::collections::HashMap;

pub const BOX_WIDTH: f64 = 286.0;
pub const BOX_HEIGHT: f64 = 90.0;
/// Between two rows of boxes.
pub const GAP: f64 = 46.0;
/// Between two boxes of a row.
const ASIDE: f64 = 26.0;

/// An operator with its place.
pub struct Placed<'a> {
    pub operator: &'a PlanBox,
    pub x: f64,
    pub y: f64,
    /// Positions of its inputs among all boxes.
    pub inputs: Vec<usize>,
    /// What happens to its rows on the way up.
    pub label: Option<String>,
}

/// All boxes of a plan, operators before their inputs.
pub fn place(root: &PlanBox) -> Vec<Placed<'_>> {
    let mut layout = Layout { placed: Vec::new(), taken: HashMap::new() };
    layout.subtree(root, 0, 0);
    layout.placed
}

struct Layout<'a> {
    placed: Vec<Placed<'a>>,
    /// The first column that is free, by row.
    taken: HashMap<usize, usize>,
}

impl<'a> Layout<'a> {
    /// Places an operator and all below it, not further left than a column. Returns its position.
    fn subtree(&mut self, operator: &'a PlanBox, row: usize, column: usize) -> usize {
        let column = self.free(operator, row, column);
        let at = self.placed.len();
        self.taken.insert(row, column + 1);
        let (x, y) = (column as f64 * (BOX_WIDTH + ASIDE), row as f64 * (BOX_HEIGHT + GAP));
        self.placed.push(Placed { operator, x, y, inputs: Vec::new(), label: operator.label.clone() });
        for (n, input) in operator.inputs.iter().enumerate() {
            let input = self.subtree(input, row + 1, column + usize::from(n > 0));
            self.placed[at].inputs.push(input);
        }
        at
    }

    /// The first column from which on the operator and the chain of its first inputs have room.
    fn free(&self, operator: &PlanBox, row: usize, column: usize) -> usize {
        let mut column = column.max(self.taken.get(&row).copied().unwrap_or(0));
        let mut next = operator.inputs.first();
        let mut depth = row;
        while let Some(input) = next {
            depth += 1;
            column = column.max(self.taken.get(&depth).copied().unwrap_or(0));
            next = input.inputs.first();
        }
        column
    }
}
