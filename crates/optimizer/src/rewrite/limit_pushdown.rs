//! A limit above a UNION ALL holds for each input too.

use super::{RewriteContext, bottom_up};
use muster_algebra::Rel;
use muster_types::Result;

pub fn run(rel: Rel, _context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Limit { input, offset, count: Some(count) } => match *input {
                Rel::Union { inputs, columns } => {
                    let most = offset.saturating_add(count);
                    let inputs = inputs.into_iter().map(|(r, ids)| (at_most(r, most), ids)).collect();
                    let input = Box::new(Rel::Union { inputs, columns });
                    Rel::Limit { input, offset, count: Some(count) }
                }
                other => Rel::Limit { input: Box::new(other), offset, count: Some(count) },
            },
            other => other,
        })
    })
}

fn at_most(rel: Rel, most: u64) -> Rel {
    match rel {
        Rel::Limit { input, offset, count } if offset == 0 => {
            Rel::Limit { input, offset, count: Some(count.map_or(most, |n| n.min(most))) }
        }
        other => Rel::Limit { input: Box::new(other), offset: 0, count: Some(most) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn each_input_stops_at_offset_plus_count() {
        let mut t = Tables::new();
        let (l, a, _) = t.table("l", &["a", "x"]).pair();
        let (r, b, _) = t.table("r", &["b", "y"]).pair();
        let out = t.computed("a");
        let union = |inputs| Rel::Union { inputs, columns: vec![out] };
        let limit = |input, offset, count| Rel::Limit { input: Box::new(input), offset, count: Some(count) };
        let rel = limit(union(vec![(l.clone(), vec![a]), (r.clone(), vec![b])]), 5, 10);
        let expected = limit(union(vec![(limit(l, 0, 15), vec![a]), (limit(r, 0, 15), vec![b])]), 5, 10);
        assert_eq!(t.run(run, rel), expected);
    }
}
