//! Leaves that become too full: their rows move to more pages.

use super::{
    block::RowBlock,
    btree::Tree,
    group::Group,
    inner::{self, Child, InnerNode},
    leaf::{Fences, RowExtents, write_leaf},
    modify::note,
    probe::Event,
};
use crate::{
    Counters, Result,
    buffer_pool::PageGuardMut,
    file::ROOT_PAGE,
    page::{NO_PAGE, PageHeaderMut},
};

/// More bytes for the fences, where leaves were cut with too few.
const FENCE_STEP: usize = 64;

/// The bounds of a leaf's keys, apart from its page.
#[derive(Debug, Clone, Default)]
struct Bounds {
    low: Vec<u8>,
    high: Option<Vec<u8>>,
}

impl Bounds {
    fn fences(&self) -> Fences<'_> {
        Fences { low: &self.low, high: self.high.as_deref() }
    }

    /// The bounds of parts that are cut at these separators, which ascend.
    fn cut(&self, separators: &[Vec<u8>]) -> Vec<Bounds> {
        let lows = std::iter::once(&self.low).chain(separators).cloned();
        let highs = separators.iter().cloned().map(Some).chain([self.high.clone()]);
        lows.zip(highs).map(|(low, high)| Bounds { low, high }).collect()
    }
}

impl Tree {
    /// The page of a leaf with these rows, without its number; `None` if they do not fit one.
    pub(super) fn leaf_image(
        &self,
        block: &RowBlock,
        extents: &RowExtents,
        fences: Fences<'_>,
        right: u32,
    ) -> Option<Vec<u8>> {
        let bytes = extents.bytes(block, &self.fit.widths) + fences.bytes();
        if bytes > self.fit.bytes || extents.rows().len() > self.fit.max_rows {
            return None;
        }
        let mut image = vec![0; self.file.page_size()];
        write_leaf(block, extents, &self.fit.widths, fences, &mut image);
        PageHeaderMut(&mut image).set_next(right);
        Some(image)
    }

    /// Moves a part of a leaf's rows to new pages, so that there is room for a row with this key, and posts those. The
    /// rows of the root move to new pages wholly. Errors: those of allocating pages; the leaf is then as it was.
    pub(super) fn split_leaf(&self, page: PageGuardMut, key: &[u8], counters: &Counters) -> Result<()> {
        let corrupt = |e| self.corrupt(page.page_no(), e);
        let leaf = self.leaf(&page)?;
        let block = leaf.to_block(&self.layout).map_err(corrupt)?;
        let row = leaf.lower_bound(&self.layout, key).map_err(corrupt)?;
        let fences = leaf.fences().map_err(corrupt)?;
        let bounds = Bounds { low: fences.low.to_vec(), high: fences.high.map(<[u8]>::to_vec) };
        let (pieces, bounds) = self.cut(&block, &bounds, row, key);
        let (behind, max_trx_id) = (leaf.right(), leaf.max_trx_id());

        let mut group = Group::new(self, counters);
        group.raise_trx_id(max_trx_id);
        let old = group.add(page);
        let is_root = group.page_no(old) == ROOT_PAGE;
        let mut members = if is_root { Vec::new() } else { vec![old] };
        while members.len() < pieces.len() {
            members.push(group.allocate()?);
        }
        let mut children = Vec::with_capacity(pieces.len());
        for (i, (extents, bounds)) in pieces.iter().zip(&bounds).enumerate() {
            let right = members.get(i + 1).map_or(behind, |member| group.page_no(*member));
            let mut image = vec![0; self.file.page_size()];
            write_leaf(&block, extents, &self.fit.widths, bounds.fences(), &mut image);
            PageHeaderMut(&mut image).set_next(right);
            group.image(members[i], image);
            let (page, rows) = (group.page_no(members[i]), extents.rows().len() as u64);
            children.push(Child { key: bounds.low.clone(), page, rows });
        }
        group.count(0, pieces.len() as i64 - 1);
        let second = children[1].page;
        if is_root {
            group.inner(old, &InnerNode { level: 1, children, high: None, right: NO_PAGE });
        }
        drop(group.commit());
        self.probe.hit(if is_root { Event::Grow } else { Event::Split });
        if !is_root && !self.probe.skips_post(second) {
            note(self.post(&bounds[1].low, 0, counters));
        }
        Ok(())
    }

    /// Cuts the rows of a leaf into such as fit leaves, with room for a row with the key `key` at position `row`. Rows
    /// that come in key order at the end of the tree leave full leaves behind them.
    fn cut(&self, block: &RowBlock, bounds: &Bounds, row: usize, key: &[u8]) -> (Vec<RowExtents>, Vec<Bounds>) {
        let (rows, fit) = (block.rows(), &self.fit);
        let with_bounds = |pieces: Vec<RowExtents>| {
            let starts = pieces[1..].iter().map(|piece| separator_at(self, block, piece.rows().start, row, key));
            let bounds = bounds.cut(&starts.collect::<Vec<_>>());
            let fits = |(piece, bounds): (&RowExtents, &Bounds)| {
                piece.rows().len() <= 1 || piece.bytes(block, &fit.widths) + bounds.fences().bytes() <= fit.bytes
            };
            let all_fit = pieces.iter().zip(&bounds).all(fits);
            (pieces, bounds, all_fit)
        };
        if row == rows && bounds.high.is_none() || rows <= 1 {
            let at_row = vec![RowExtents::of(block, 0..row), RowExtents::of(block, row..rows)];
            if let (pieces, bounds, true) = with_bounds(at_row) {
                return (pieces, bounds);
            }
        }
        let mut fences = bounds.fences().bytes();
        loop {
            let bytes = RowExtents::of(block, 0..rows).bytes(block, &fit.widths);
            let mut half = fit.clone();
            half.bytes = (bytes / 2 + fences).min(fit.bytes);
            half.max_rows = fit.max_rows.min(rows.div_ceil(2)).max(1);
            let mut pieces = vec![half.take(block, 0, rows / 2, fences)];
            while pieces[pieces.len() - 1].rows().end < rows {
                let start = pieces[pieces.len() - 1].rows().end;
                pieces.push(fit.take(block, start, rows - start, fences));
            }
            if let (pieces, bounds, true) = with_bounds(pieces) {
                return (pieces, bounds);
            }
            fences += FENCE_STEP;
        }
    }
}

/// The separator between a block's row `at` and the one before it, where a row with the key `key` is to come at `row`.
fn separator_at(tree: &Tree, block: &RowBlock, at: usize, row: usize, key: &[u8]) -> Vec<u8> {
    let key_at = |row: usize| {
        let mut key = Vec::new();
        tree.layout.key.append_row(&block.row(row), &mut key);
        key
    };
    match at {
        0 => inner::separator(key, &key_at(0)),
        _ if at == row => inner::separator(&key_at(at - 1), key),
        _ => inner::separator(&key_at(at - 1), &key_at(at)),
    }
}
