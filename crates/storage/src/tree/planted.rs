//! Faults that tests plant in a tree, to see that some test finds them.

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlantedFault {
    /// A parent takes a page that came by a split as it was then, without looking whether it is still there.
    PostUnseen,
    /// A leaf with a remembered page number counts as the one that was meant, whatever its fences are.
    TrustPageNumbers,
    /// Nobody keeps others from adding an entry with the same declared parts to a unique tree.
    AddUnseen,
    /// An entry of a secondary tree counts as it is, though the view does not see its last change.
    TrustEntries,
    /// Whoever changes a page of the tree panics before the log has the change.
    PanicAmidChange,
}

#[cfg(test)]
impl super::Tree {
    /// Lets two entries come at once that a unique tree must not have both.
    pub(crate) fn plant_unseen_additions(&self) {
        self.planted.plant(PlantedFault::AddUnseen);
    }

    /// Lets the next change of a page panic before it is in the log.
    pub(crate) fn plant_panic_amid_change(&self) {
        self.planted.plant(PlantedFault::PanicAmidChange);
    }
}
