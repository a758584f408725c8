//! Which columns conditions say are equal.

use muster_algebra::ColId;

/// Equivalence classes of columns.
#[derive(Debug, Clone, Default)]
pub struct EqualColumns {
    pub classes: Vec<Vec<ColId>>,
}

impl EqualColumns {
    pub fn join(&mut self, a: ColId, b: ColId) {
        let find = |classes: &[Vec<ColId>], id: ColId| classes.iter().position(|c| c.contains(&id));
        match (find(&self.classes, a), find(&self.classes, b)) {
            (None, None) if a == b => {}
            (None, None) => self.classes.push(vec![a, b]),
            (Some(i), None) => self.classes[i].push(b),
            (None, Some(i)) => self.classes[i].push(a),
            (Some(i), Some(j)) if i != j => {
                let moved = self.classes.remove(i.max(j));
                self.classes[i.min(j)].extend(moved);
            }
            _ => {}
        }
    }

    pub fn class_of(&self, id: ColId) -> Option<&[ColId]> {
        self.classes.iter().find(|c| c.contains(&id)).map(Vec::as_slice)
    }
}
