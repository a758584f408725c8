//! How many rows the conditions on a table leave. What dives into indexes say of conditions counts more than what the
//! statistics of columns say, upwards too.

use crate::estimate::Estimator;
use crate::options::Options;
use crate::ranges::IndexRanges;
use muster_algebra::{Expr, Switch};
use std::cmp::Reverse;
use std::rc::Rc;

/// The ranges of an index, and the share of the table's rows that they hold.
pub type RangeShare = (Rc<IndexRanges>, f64);

/// Share of a table's rows for which all conditions hold. `ranges`: of its indexes, made of these conditions.
pub fn share(conjuncts: &[Expr], ranges: &[RangeShare], estimator: &Estimator, options: &Options) -> f64 {
    if !options.is_on(Switch::ConditionFanoutFilter) {
        return ranges.iter().fold(1.0, |share, (_, held)| share.min(*held));
    }
    // Ranges that hold the rows for which some conditions hold, and no others: of the most conditions first.
    let mut exact: Vec<&RangeShare> = ranges.iter().filter(|(r, _)| r.says_all).collect();
    let implied = |ranges: &IndexRanges| ranges.implied.iter().filter(|implied| **implied).count();
    exact.sort_by_key(|(ranges, _)| Reverse(implied(ranges)));
    let mut given = vec![false; conjuncts.len()];
    let (mut share, mut sources) = (1.0, 0);
    for (ranges, held) in exact {
        if implied(ranges) == 0 || ranges.implied.iter().zip(&given).any(|(implied, given)| *implied && *given) {
            continue;
        }
        given.iter_mut().zip(&ranges.implied).for_each(|(given, implied)| *given |= implied);
        share *= held;
        sources += 1;
    }
    let with = |wanted: bool| conjuncts.iter().zip(&given).filter(move |(_, given)| **given == wanted).map(|(c, _)| c);
    let (known, rest): (Vec<&Expr>, Vec<&Expr>) = (with(true).collect(), with(false).collect());
    share *= match sources {
        0 => estimator.selectivity(rest.iter().copied()),
        _ => estimator.conditional(&rest, &known),
    };
    if sources > 1 {
        // Conditions of several indexes need not be independent of each other.
        share = estimator.corrected(share, &conjuncts.iter().collect::<Vec<_>>());
    }
    // No more rows than any ranges hold.
    ranges.iter().fold(share, |share, (_, held)| share.min(held.max(1e-12)))
}
