//! The end of the log is found, and told apart from damage.
//!
//! The log ends at the first position where no valid group begins: its checksum, its length, its LSN and an epoch that
//! is not below that of the group before. If the checkpoint, or a valid group behind that position, says that bytes
//! behind it were durable, then what was durable is gone: the log is damaged. Else the bytes behind the position were
//! on their way to the disk when the power went.

use super::{
    Lsn,
    checkpoint::Checkpoint,
    file_records::{FileChanges, is_of_small_file},
    geometry::SEGMENT_HEADER,
    group::{GROUP_HEADER, UNIT},
    reader::{Groups, Next, Window},
    segments::Segments,
};
use crate::{Result, page::u64_at};

/// The end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub lsn: Lsn,
    /// The highest epoch that is known.
    pub epoch: u32,
    /// Number of groups between the start of redo and the end.
    pub groups: u64,
}

/// The treatment of a log that is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It is not opened.
    IsRefused,
    /// It ends where it is damaged.
    IsTheEnd,
}

/// Finds the end of the log, from the start of redo on, and what the log says of whole files up to there. Errors:
/// `DamagedLog`, I/O.
pub(crate) fn find_end(
    segments: &Segments,
    checkpoint: &Checkpoint,
    files: &mut FileChanges,
    damage: Damage,
) -> Result<End> {
    let mut groups = Groups::new(segments, checkpoint.redo, (checkpoint.synced, checkpoint.epoch));
    let mut count = 0;
    let reason = loop {
        match groups.next()? {
            Next::Group(group) => {
                count += 1;
                for record in group.records().filter(|record| is_of_small_file(record.kind)) {
                    files.add(&record).map_err(|reason| segments.damaged(record.lsn, reason))?;
                }
            }
            Next::End(reason) => break reason,
        }
    };
    let end = End { lsn: groups.position(), epoch: groups.epoch().max(checkpoint.epoch), groups: count };
    match damage_at(segments, checkpoint, end.lsn)? {
        Some(witness) => {
            let e = segments.damaged(segments.format.geometry.place(end.lsn), format!("{reason}, but {witness}"));
            if damage == Damage::IsRefused {
                return Err(e);
            }
            tracing::error!("the log is read up to here only: {e}");
            Ok(end)
        }
        None => Ok(end),
    }
}

/// Returns the evidence that the log was durable beyond its end; `None` if there is none.
fn damage_at(segments: &Segments, checkpoint: &Checkpoint, end: Lsn) -> Result<Option<String>> {
    if end < checkpoint.synced {
        return Ok(Some(format!("the checkpoint says that the log was durable up to {}", checkpoint.synced)));
    }
    let witness = durable_behind(segments, end)?;
    Ok(witness.map(|at| format!("the group at {at} says that the log was durable beyond {end}")))
}

/// Returns true if a group, or a fill, was begun at the first place of a segment. Where none was, the segment is spare:
/// a log whose segments are large has a hundred megabytes of them. If a sync had come as far as this segment, its first
/// group would be there.
fn is_in_use(window: &mut Window<'_>, first_place: Lsn) -> Result<bool> {
    Ok(window.bytes(first_place, GROUP_HEADER)?.is_some_and(|bytes| u64_at(bytes, 8) == first_place))
}

/// A valid group behind the end which says that the log was durable beyond the end, if there is one: its position.
fn durable_behind(segments: &Segments, end: Lsn) -> Result<Option<Lsn>> {
    let geometry = segments.format.geometry;
    let (mut window, mut beginning) = (Window::new(segments), Window::small(segments));
    let first = geometry.segment_of(end);
    for number in segments.list()?.into_iter().filter(|&number| number >= first) {
        let start = geometry.start_of(number);
        if number > first && !is_in_use(&mut beginning, start + SEGMENT_HEADER)? {
            continue;
        }
        let mut at = geometry.place(start.max(end));
        while at + GROUP_HEADER as u64 <= start + geometry.segment_bytes() {
            let Some(bytes) = window.bytes(at, GROUP_HEADER)? else { break };
            // Nearly all positions fail this test, which costs no more than reading them.
            if u64_at(bytes, 8) == at
                && let Ok(group) = window.group(at)?
                && group.header.stamp.synced > end
            {
                return Ok(Some(at));
            }
            at += UNIT as u64;
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "end_tests.rs"]
mod tests;
