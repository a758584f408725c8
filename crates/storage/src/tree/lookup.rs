//! Many lookups at once: the leaves of sorted keys.

use super::btree::Tree;
use crate::{
    Counters, Result,
    buffer_pool::{AccessHint, PageGuard},
};

impl Tree {
    /// Latches the leaves that sorted keys belong to, at most `max` of them; with each, how many of the keys it is for.
    /// Inner pages are read once for neighbouring keys. Do not hold latches of this tree when calling.
    pub fn find_leaves<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        max: usize,
        read_ahead: bool,
        counters: &Counters,
    ) -> Result<Vec<(PageGuard, usize)>> {
        let _shape = self.shape.read();
        let header = self.file.header();
        let mut found: Vec<(u32, usize)> = Vec::new();
        if header.height <= 1 {
            found.push((header.root, keys.count()));
        } else {
            // The last inner page above leaves, and the end of its keys.
            let mut parent: Option<(PageGuard, Option<Vec<u8>>)> = None;
            for key in keys {
                let beyond = match &parent {
                    Some((_, fence)) => fence.as_ref().is_some_and(|fence| key >= fence.as_slice()),
                    None => true,
                };
                if beyond {
                    parent = Some(self.parent_of(key, counters)?);
                }
                let Some((page, _)) = &parent else { break };
                let inner = self.inner(page, 1)?;
                let leaf = inner.child(inner.find(key));
                let full = found.len() == max;
                match found.last_mut() {
                    Some((last, count)) if *last == leaf => *count += 1,
                    _ if full => break,
                    _ => found.push((leaf, 1)),
                }
            }
        }
        if read_ahead && found.len() > 1 {
            let pages: Vec<u32> = found.iter().map(|(page, _)| *page).collect();
            self.pool.prefetch(&self.file, &pages, counters);
        }
        found.into_iter().map(|(page, count)| Ok((self.fetch(page, AccessHint::Point, counters)?, count))).collect()
    }

    /// The inner page above a key's leaf, and the separator behind its keys.
    fn parent_of(&self, key: &[u8], counters: &Counters) -> Result<(PageGuard, Option<Vec<u8>>)> {
        let header = self.file.header();
        let mut fence = None;
        let mut page = self.fetch(header.root, AccessHint::Point, counters)?;
        for level in (2..header.height as usize).rev() {
            let inner = self.inner(&page, level)?;
            let child = inner.find(key);
            if child + 1 < inner.children() {
                fence = Some(inner.separator(child).to_vec());
            }
            page = self.fetch(inner.child(child), AccessHint::Point, counters)?;
        }
        Ok((page, fence))
    }
}
