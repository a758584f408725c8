//! Anchors in the chains of versions: undo records from which a reader jumps over many versions at once.
//!
//! ```text
//!   newest                                                                                 oldest
//!     row -> u -> u -> A3 -> u .. u -> A2 -> u .. u -> A1 -> u .. u -> the first record of the chain
//!                      |                ^  |            ^
//!                      +----------------+  +------------+      skips of level 0: the anchor before
//!                      (level 1 leads to the last anchor before whose number is a multiple of 16, level 2 of 256, ..)
//! ```
//!
//! Every sixteenth undo record of a chain is an **anchor**: it has the row before as a whole record, not as a patch, so
//! that it can be read without those behind it, and it has the positions of anchors before it. Beside each position is
//! the transaction of the version that the anchor there leads to. A reader whose view does not see that transaction
//! does not see any version in between either, and jumps: transactions that change a row do so one after the other,
//! each when the one before has ended, so what a view does not see of a chain is newer than all that it sees. (Only the
//! reader's own transaction is seen out of this order, and while it has not ended its version is the newest one.) With
//! a base of 16, a chain of n versions is read in about 16 records for each digit of n.
//!
//! A skip leads from a version to one of its ancestors. These never change: rollback removes versions from the top of
//! the chain, and purge removes whole transactions that all views see, behind which no reader looks. So a skip stays
//! right, or nobody asks for it.
//!
//! Whoever adds a version has to know the place of the one before it, which is in the log's memory nearly always. If it
//! is not, a new chain of anchors begins: readers pass from one to the next by roll pointers. The same is done where
//! all views see the version before.

use crate::{
    log::Lsn,
    page::{u32_at, u64_at},
    tree::Skip,
};

/// Undo records from one anchor to the next, and anchors of one level to one of the next.
const SPACING: u32 = 16;

/// Levels of skips: more versions than these lead over are not kept.
const LEVELS_MAX: u32 = 6;

/// Bytes before the skips.
const HEAD: usize = 8;
/// Bytes of a skip, and of the position of the last anchor.
const SKIP: usize = 16;
const ANCHOR: usize = 8;

/// The place of an undo record among the anchors of its chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ChainPlace {
    /// The first one.
    #[default]
    First,
    /// The record that comes so many after an anchor, or after the first one if `anchor` is 0.
    Between { behind: u8, anchor: Lsn },
    /// An anchor; anchors have numbers from 1.
    Anchor { number: u32, skips: Vec<Skip> },
}

/// An undo record as the next one of its chain sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainLink {
    pub place: ChainPlace,
    /// The transaction of the version that it leads to.
    pub trx_id: u64,
}

impl ChainPlace {
    /// The place behind the undo record at a position. `read`: reads a record if it is in memory.
    pub fn behind(at: Lsn, read: impl Fn(Lsn) -> Option<ChainLink>) -> ChainPlace {
        let Some(link) = read(at) else { return ChainPlace::First };
        let (behind, anchor) = match link.place {
            ChainPlace::First => (1, 0),
            ChainPlace::Anchor { .. } => (1, at),
            ChainPlace::Between { behind, anchor } => (u32::from(behind) + 1, anchor),
        };
        if behind < SPACING {
            return ChainPlace::Between { behind: behind as u8, anchor };
        }
        let last = Some(anchor).filter(|at| *at != 0).and_then(read);
        match last {
            Some(ChainLink { place: ChainPlace::Anchor { number, skips }, trx_id }) => ChainPlace::Anchor {
                number: number.saturating_add(1),
                skips: skips_behind(Skip { at: anchor, trx_id }, number, &skips),
            },
            _ => ChainPlace::Anchor { number: 1, skips: Vec::new() },
        }
    }

    /// The anchors to which a reader may jump, the nearest one first.
    pub fn skips(&self) -> &[Skip] {
        match self {
            ChainPlace::Anchor { skips, .. } => skips,
            _ => &[],
        }
    }

    /// The same, of a place that is not needed any more.
    pub fn into_skips(self) -> Vec<Skip> {
        match self {
            ChainPlace::Anchor { skips, .. } => skips,
            _ => Vec::new(),
        }
    }

    pub fn is_anchor(&self) -> bool {
        matches!(self, ChainPlace::Anchor { .. })
    }

    /// Appends the bytes that a record has of its place; none for the first one.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        let (behind, number, skips): (u8, u32, &[Skip]) = match self {
            ChainPlace::First => return,
            ChainPlace::Between { behind, .. } => (*behind, 0, &[]),
            ChainPlace::Anchor { number, skips } => (0, *number, skips),
        };
        bytes.extend_from_slice(&[behind, skips.len() as u8, 0, 0]);
        bytes.extend_from_slice(&number.to_le_bytes());
        if let ChainPlace::Between { anchor, .. } = self {
            bytes.extend_from_slice(&anchor.to_le_bytes());
        }
        for Skip { at, trx_id } in skips {
            bytes.extend_from_slice(&at.to_le_bytes());
            bytes.extend_from_slice(&trx_id.to_le_bytes());
        }
    }

    /// Reads the place that bytes begin with. Returns it and the bytes behind it; `None` if there is none.
    pub fn read(bytes: &[u8]) -> Option<(ChainPlace, &[u8])> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (behind, levels) = (head[0], usize::from(head[1]));
        if behind > 0 {
            let (anchor, rest) = rest.split_at_checked(ANCHOR)?;
            return Some((ChainPlace::Between { behind, anchor: u64_at(anchor, 0) }, rest));
        }
        let (skips, rest) = rest.split_at_checked(SKIP * levels)?;
        let skips = skips.chunks_exact(SKIP).map(|skip| Skip { at: u64_at(skip, 0), trx_id: u64_at(skip, 8) });
        Some((ChainPlace::Anchor { number: u32_at(head, 4), skips: skips.collect() }, rest))
    }
}

/// The skips of an anchor behind another one, which has this number and these skips.
fn skips_behind(last: Skip, number: u32, skips: &[Skip]) -> Vec<Skip> {
    let of_level = |level: u32| match number.is_multiple_of(SPACING.pow(level)) {
        true => Some(last),
        false => skips.get(level as usize).copied(),
    };
    (0..LEVELS_MAX).map_while(of_level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// The places of a chain, by positions: the n-th record is at 8 n and leads to a version of transaction n - 1.
    fn chain(records: u64) -> HashMap<Lsn, ChainLink> {
        let mut chain: HashMap<Lsn, ChainLink> = HashMap::new();
        for n in 1..=records {
            let place = ChainPlace::behind(8 * (n - 1), |at| chain.get(&at).cloned());
            chain.insert(8 * n, ChainLink { place, trx_id: n - 1 });
        }
        chain
    }

    #[test]
    fn every_sixteenth_record_is_an_anchor_that_leads_back() {
        let chain = chain(10_000);
        for n in 1..=10_000 {
            let place = &chain[&(8 * n)].place;
            assert_eq!(place.is_anchor(), n > 1 && (n - 1).is_multiple_of(16), "{n}: {place:?}");
            let mut last = 8 * n;
            for skip in place.skips() {
                assert!(skip.at <= last && chain[&skip.at].place.is_anchor(), "{n}: {place:?}");
                assert_eq!(skip.trx_id, chain[&skip.at].trx_id);
                last = skip.at;
            }
        }
        let numbered = |number: u64| &chain[&(8 * (16 * number + 1))].place;
        let levels = |number: u64| numbered(number).skips().iter().map(|s| (s.at / 8 - 1) / 16).collect::<Vec<_>>();
        assert_eq!((levels(1), levels(2), levels(16)), (vec![], vec![1], vec![15]));
        assert_eq!((levels(17), levels(33), levels(300)), (vec![16, 16], vec![32, 32], vec![299, 288, 256]));
    }

    #[test]
    fn a_reader_jumps_to_any_version_in_few_steps() {
        let chain = chain(100_000);
        for wanted in (0..100_000).step_by(977) {
            // The reader sees transactions up to `wanted`.
            let (mut at, mut steps) = (8 * 100_000, 1);
            while chain[&at].trx_id > wanted {
                let skips = chain[&at].place.skips();
                at = skips.iter().rev().find(|skip| skip.trx_id > wanted).map_or(at - 8, |skip| skip.at);
                steps += 1;
            }
            assert_eq!(chain[&at].trx_id, wanted);
            assert!(steps <= 100, "{steps} records for version {wanted}");
        }
    }

    #[test]
    fn a_chain_whose_last_records_are_not_in_memory_begins_anew() {
        let chain = chain(100);
        assert_eq!(ChainPlace::behind(8 * 50, |_| None), ChainPlace::First);
        // The record before an anchor is there, and the anchor before that is not.
        let only = |at: Lsn| (at == 8 * 48).then(|| chain[&at].clone());
        assert_eq!(ChainPlace::behind(8 * 48, only), ChainPlace::Anchor { number: 1, skips: Vec::new() });
    }

    #[test]
    fn places_come_back() {
        for ChainLink { place, .. } in chain(600).into_values().filter(|link| link.place != ChainPlace::First) {
            let mut bytes = Vec::new();
            place.append_to(&mut bytes);
            assert!((0..bytes.len()).all(|cut| ChainPlace::read(&bytes[..cut]).is_none()));
            bytes.push(7);
            assert_eq!(ChainPlace::read(&bytes), Some((place, &[7][..])));
        }
    }
}
