//! Probes that show tests a tree's work. Nothing of it is in a build that is not for tests.

/// Events of pages and of plans of leaves that tests count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Event {
    /// A leaf was encoded anew.
    Encode,
    /// A leaf was split.
    Split,
    /// A parent learned of new pages.
    Post,
    /// A writer came to a leaf by a right link.
    Cross,
    /// Two neighbours became one page.
    Merge,
    /// The tree became higher.
    Grow,
    /// The tree became lower.
    Shrink,
    /// A planned leaf was another page when it was latched.
    Stale,
    /// A page was not waited for, since others were held.
    Refused,
    /// A parent knew all pages already when it was to learn of one.
    Posted,
    /// A page that had been free was used again.
    Reuse,
    /// Rows of a leaf were copied for a view.
    Copied,
    /// They took several pages.
    CopiedToSeveral,
    /// The view saw an entry whose last change it did not see.
    DoubtedSeen,
    /// It saw none.
    DoubtedNot,
}

#[derive(Debug, Default)]
pub(super) struct Probe {
    #[cfg(test)]
    hits: [std::sync::atomic::AtomicU64; Event::ALL.len()],
    /// Nothing is posted.
    #[cfg(test)]
    pub skip_posts: std::sync::atomic::AtomicBool,
    /// A leaf is encoded anew after each change of a row.
    #[cfg(test)]
    pub encode_always: std::sync::atomic::AtomicBool,
    /// Leaves that rest are encoded as if all their transactions were of the past.
    #[cfg(test)]
    pub forget_horizon: std::sync::atomic::AtomicBool,
    /// Pages of copies have few rows.
    #[cfg(test)]
    pub small_copies: std::sync::atomic::AtomicBool,
}

#[cfg(not(test))]
impl Probe {
    #[inline]
    pub fn hit(&self, _event: Event) {}

    #[inline]
    pub fn skips_post(&self, _page: u32) -> bool {
        false
    }

    #[inline]
    pub fn forgets_horizon(&self) -> bool {
        false
    }

    #[inline]
    pub fn copy_rows_max(&self) -> usize {
        usize::MAX
    }
}

#[cfg(test)]
impl Event {
    pub const ALL: [Event; 15] = [
        Event::Encode,
        Event::Split,
        Event::Post,
        Event::Cross,
        Event::Merge,
        Event::Grow,
        Event::Shrink,
        Event::Stale,
        Event::Refused,
        Event::Posted,
        Event::Reuse,
        Event::Copied,
        Event::CopiedToSeveral,
        Event::DoubtedSeen,
        Event::DoubtedNot,
    ];

    /// Returns true for what only readers meet whose view does not see everything.
    pub fn is_of_views(self) -> bool {
        matches!(self, Event::Copied | Event::CopiedToSeveral | Event::DoubtedSeen | Event::DoubtedNot)
    }
}

#[cfg(test)]
impl Probe {
    pub fn hit(&self, event: Event) {
        self.hits[event as usize].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    pub fn hits(&self, event: Event) -> u64 {
        self.hits[event as usize].load(std::sync::atomic::Ordering::Relaxed)
    }

    pub fn forgets_horizon(&self) -> bool {
        self.forget_horizon.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Most rows of a page of a copy.
    pub fn copy_rows_max(&self) -> usize {
        if self.small_copies.load(std::sync::atomic::Ordering::Relaxed) { 3 } else { usize::MAX }
    }

    /// Returns true if a new page is not to be posted by whoever made it: in tests every third one waits for a writer
    /// that crosses the link, so that all of them meet such pages.
    pub fn skips_post(&self, page: u32) -> bool {
        page.is_multiple_of(3) || self.skip_posts.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(test)]
impl super::Tree {
    /// The events of the tree since it was opened: their names, and how often each was met.
    pub(crate) fn events(&self) -> impl Iterator<Item = (String, u64)> {
        Event::ALL.into_iter().map(|event| (format!("{event:?}"), self.probe.hits(event)))
    }

    /// The largest transaction id of the leaf that has a key, or would have it.
    pub(crate) fn largest_trx_id_at(&self, key: &[u8]) -> crate::Result<u64> {
        let page = self.descend(super::read::descent::DescentTarget::Key(key), 0, &crate::Counters::default())?;
        Ok(page.header().max_trx_id())
    }
}
