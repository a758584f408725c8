//! One leaf becomes two, or two become one: pages as bytes. What leads to them is the tree's.

use super::{
    BadPage, Fences, Leaf,
    encode::{NewRows, Records},
};
use crate::{
    page::{PageHeader, PageHeaderMut},
    tree::page::{block::BlockValues, inner::separator, layout::TreeLayout},
};

/// The choice of the place where a leaf is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut<'k> {
    /// Both halves have about the same bytes.
    Middle,
    /// Before the row at a position, for a new row with this key that belongs there: the right half has the new row's
    /// place; at position 0 the left half has it. A half may then be empty.
    For { position: usize, key: &'k [u8] },
}

/// The pages that a leaf becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halves {
    pub left: Vec<u8>,
    pub right: Vec<u8>,
    /// The fence between them.
    pub separator: Vec<u8>,
}

/// Cuts a leaf in two. The left half keeps its number and leads to the right one, which gets `right_no` and leads on.
/// `None` if the rows cannot be cut there.
pub fn split(
    page: &[u8],
    layout: &TreeLayout,
    horizon: u64,
    cut: Cut<'_>,
    right_no: u32,
) -> Result<Option<Halves>, BadPage> {
    let leaf = Leaf::of(page, layout)?;
    let rows = leaf.rows();
    match cut {
        Cut::For { position: 0, key } if rows > 0 => {
            halves(&leaf, layout, horizon, 0, separator(key, &leaf.key(layout, 0)?), right_no)
        }
        Cut::For { position, key } => {
            let before = match position {
                0 => Vec::new(),
                _ => leaf.key(layout, position - 1)?,
            };
            halves(&leaf, layout, horizon, position, separator(&before, key), right_no)
        }
        Cut::Middle => {
            // Near the middle both halves fit, unless the separator is far longer than the fences.
            let middle = middle(&leaf, layout)?;
            let mut positions: Vec<usize> = (1..rows).collect();
            positions.sort_by_key(|position| position.abs_diff(middle));
            for position in positions {
                let between = separator(&leaf.key(layout, position - 1)?, &leaf.key(layout, position)?);
                if let Some(halves) = halves(&leaf, layout, horizon, position, between, right_no)? {
                    return Ok(Some(halves));
                }
            }
            Ok(None)
        }
    }
}

/// The rows of two neighbours as one leaf, with the left one's number and the right one's link. `None` if they do not
/// fit, or leave less than `free` bytes.
pub fn join(
    left: &[u8],
    right: &[u8],
    layout: &TreeLayout,
    horizon: u64,
    free: usize,
) -> Result<Option<Vec<u8>>, BadPage> {
    let (left_leaf, right_leaf) = (Leaf::of(left, layout)?, Leaf::of(right, layout)?);
    let all = |leaf: &Leaf<'_>| NewRows::of(leaf, layout, 0..leaf.rows(), Records::Encoded, horizon);
    let mut rows = all(&left_leaf)?;
    rows.append(all(&right_leaf)?);
    let fences = Fences { low: left_leaf.fences()?.low, high: right_leaf.fences()?.high };
    let mut page = vec![0; left.len()];
    if !rows.write(layout, PageHeader(left), fences, &mut page)? || super::changes::free_bytes(&page)? < free {
        return Ok(None);
    }
    let mut header = PageHeaderMut(&mut page);
    header.set_next(PageHeader(right).next());
    header.set_max_trx_id(left_leaf.max_trx_id().max(right_leaf.max_trx_id()));
    Ok(Some(page))
}

fn halves(
    leaf: &Leaf<'_>,
    layout: &TreeLayout,
    horizon: u64,
    position: usize,
    separator: Vec<u8>,
    right_no: u32,
) -> Result<Option<Halves>, BadPage> {
    let (header, fences) = (PageHeader(leaf.page()), leaf.fences()?);
    let half = |positions: std::ops::Range<usize>, fences: Fences<'_>| {
        let mut page = vec![0; leaf.page().len()];
        for records in [Records::Encoded, Records::Kept] {
            if NewRows::of(leaf, layout, positions.clone(), records, horizon)?
                .write(layout, header, fences, &mut page)?
            {
                return Ok(Some(page));
            }
        }
        Ok(None)
    };
    let left = half(0..position, Fences { low: fences.low, high: Some(&separator) })?;
    let right = half(position..leaf.rows(), Fences { low: &separator, high: fences.high })?;
    let (Some(mut left), Some(mut right)) = (left, right) else { return Ok(None) };
    PageHeaderMut(&mut left).set_next(right_no);
    PageHeaderMut(&mut right).set_identity(right_no, header.index_id());
    Ok(Some(Halves { left, right, separator }))
}

/// The position before which about half of the bytes are.
fn middle(leaf: &Leaf<'_>, layout: &TreeLayout) -> Result<usize, BadPage> {
    let block = leaf.to_block(layout)?;
    let strings: Vec<_> = block.columns.iter().filter(|c| matches!(c.values, BlockValues::Bytes { .. })).collect();
    let bytes =
        |row: usize| layout.record.fixed_bytes() + strings.iter().map(|column| column.bytes(row).len()).sum::<usize>();
    let half: usize = (0..block.rows()).map(bytes).sum::<usize>() / 2;
    let mut sum = 0;
    let upto = (0..block.rows()).take_while(|row| {
        sum += bytes(*row);
        sum <= half
    });
    Ok(upto.count().max(1))
}
