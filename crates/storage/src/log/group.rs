//! Groups of records as bytes: what is appended to the log wholly or not at all.
//!
//! ```text
//!   header (32)   CRC, length, LSN, LSN known to be synced, epoch, number of records
//!   record        kind, place in the group, length, file, page (16), payload, zeros up to a multiple of 8
//!   record        ...
//! ```
//!
//! A group without records is a fill: it says that the rest of its segment is not used, and its checksum covers the
//! header only.

use super::{Lsn, geometry::Geometry};
use crate::{
    FileId,
    page::{u32_at, u64_at},
};

/// Bytes of a group's header.
pub(crate) const GROUP_HEADER: usize = 32;
/// Bytes of a record's header.
pub(crate) const RECORD_HEADER: usize = 16;
/// Groups and records have lengths that are multiples of this, so every one of them begins at such a position.
pub(crate) const UNIT: usize = 8;
/// The most bytes of a group: a record says in 24 bits how far from the group's start it is.
pub(crate) const GROUP_MAX: usize = (1 << 24) - UNIT;

const CRC: usize = 0;
const LENGTH: usize = 4;
const LSN: usize = 8;
const SYNCED: usize = 16;
const EPOCH: usize = 24;
const RECORDS: usize = 28;

/// Ties a group to the log of one data directory: checksums begin with the directory's identity, so that bytes that a
/// user stored, or a group of another directory, are not taken for a group of this log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u32);

impl Identity {
    pub fn new(identity: u64) -> Identity {
        Identity(crc32c::crc32c(&identity.to_le_bytes()))
    }

    fn checksum(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, bytes)
    }
}

/// The part of a group's header that is known when the group gets its place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Position of the group's first byte.
    pub lsn: Lsn,
    /// All bytes of the log below this are known to be durable.
    pub synced: Lsn,
    pub epoch: u32,
}

/// A group that is being made.
#[derive(Debug)]
pub(crate) struct Group {
    bytes: Vec<u8>,
    records: u32,
}

impl Default for Group {
    fn default() -> Group {
        Group { bytes: vec![0; GROUP_HEADER], records: 0 }
    }
}

impl Group {
    /// Adds a record. Returns its distance from the start of the group: the LSN of the record is that of the group plus
    /// this. A group may hold no more than [`GROUP_MAX`] bytes.
    #[cfg(test)]
    pub fn push(&mut self, kind: u8, file: FileId, page: u32, payload: &[u8]) -> u64 {
        self.push_parts(kind, file, page, &[payload])
    }

    /// Adds a record whose payload is in pieces.
    pub fn push_parts(&mut self, kind: u8, file: FileId, page: u32, parts: &[&[u8]]) -> u64 {
        let at = self.bytes.len();
        let payload: usize = parts.iter().map(|part| part.len()).sum();
        let end = at + (RECORD_HEADER + payload).next_multiple_of(UNIT);
        assert!(end <= GROUP_MAX, "a group of the log has at most {GROUP_MAX} bytes");
        self.bytes.reserve(end - at);
        self.bytes.extend_from_slice(&((at as u32) << 8 | u32::from(kind)).to_le_bytes());
        for field in [payload as u32, file.0, page] {
            self.bytes.extend_from_slice(&field.to_le_bytes());
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.bytes.resize(end, 0);
        self.records += 1;
        at as u64
    }

    /// Bytes that the group takes in the log.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    #[cfg(test)]
    /// Forgets the records; the memory stays for the next group.
    pub fn clear(&mut self) {
        self.bytes.truncate(GROUP_HEADER);
        self.records = 0;
    }

    /// Writes the header. Returns the group as it stands in the log.
    pub fn seal(&mut self, stamp: Stamp, identity: Identity) -> &[u8] {
        let length = self.bytes.len() as u32;
        put_header(&mut self.bytes, stamp, length, self.records);
        let crc = identity.checksum(&self.bytes[LENGTH..]);
        self.bytes[CRC..LENGTH].copy_from_slice(&crc.to_le_bytes());
        &self.bytes
    }
}

#[cfg(test)]
/// Bytes that a group with records of such payloads takes.
pub(crate) fn group_bytes(payloads: impl IntoIterator<Item = usize>) -> u64 {
    let records = payloads.into_iter().map(|payload| (RECORD_HEADER + payload).next_multiple_of(UNIT) as u64);
    GROUP_HEADER as u64 + records.sum::<u64>()
}

/// The header of a fill that takes `length` bytes.
pub(crate) fn fill(stamp: Stamp, length: u32, identity: Identity) -> [u8; GROUP_HEADER] {
    let mut bytes = [0; GROUP_HEADER];
    put_header(&mut bytes, stamp, length, 0);
    let crc = identity.checksum(&bytes[LENGTH..]);
    bytes[CRC..LENGTH].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn put_header(bytes: &mut [u8], stamp: Stamp, length: u32, records: u32) {
    bytes[LENGTH..LSN].copy_from_slice(&length.to_le_bytes());
    bytes[LSN..SYNCED].copy_from_slice(&stamp.lsn.to_le_bytes());
    bytes[SYNCED..EPOCH].copy_from_slice(&stamp.synced.to_le_bytes());
    bytes[EPOCH..RECORDS].copy_from_slice(&stamp.epoch.to_le_bytes());
    bytes[RECORDS..GROUP_HEADER].copy_from_slice(&records.to_le_bytes());
}

/// The header of what may be a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    pub stamp: Stamp,
    /// Bytes of the group, header and zeros included.
    pub length: u64,
    pub records: u32,
}

impl GroupHeader {
    /// Reads the header of the group that should begin at a position. Errors: why none does. What the header says of
    /// the rest is only true once the checksum has been compared ([`GroupView::new`]).
    pub fn read(bytes: &[u8; GROUP_HEADER], at: Lsn, geometry: Geometry) -> Result<GroupHeader, &'static str> {
        let stamp = Stamp { lsn: u64_at(bytes, LSN), synced: u64_at(bytes, SYNCED), epoch: u32_at(bytes, EPOCH) };
        let header = GroupHeader { stamp, length: u32_at(bytes, LENGTH).into(), records: u32_at(bytes, RECORDS) };
        if header.length == 0 {
            return Err("no group begins here");
        }
        if stamp.lsn != at {
            return Err("the group belongs to another position");
        }
        let rest = geometry.rest(at);
        let fits =
            header.length >= GROUP_HEADER as u64 && header.length <= rest && header.length.is_multiple_of(UNIT as u64);
        if !fits || header.is_fill() && header.length != rest || !header.is_fill() && header.length > GROUP_MAX as u64 {
            return Err("the group has an impossible length");
        }
        Ok(header)
    }

    pub fn is_fill(&self) -> bool {
        self.records == 0
    }

    pub fn end(&self) -> Lsn {
        self.stamp.lsn + self.length
    }

    /// Bytes that the checksum covers and that must be read to compare it.
    pub fn checked_bytes(&self) -> usize {
        if self.is_fill() { GROUP_HEADER } else { self.length as usize }
    }
}

/// A group whose checksum is right and whose records lie within it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupView<'a> {
    pub header: GroupHeader,
    bytes: &'a [u8],
}

impl<'a> GroupView<'a> {
    /// Checks the bytes of a group, [`GroupHeader::checked_bytes`] of them. Errors: what is wrong.
    pub fn new(header: GroupHeader, bytes: &'a [u8], identity: Identity) -> Result<GroupView<'a>, &'static str> {
        debug_assert_eq!(bytes.len(), header.checked_bytes());
        if identity.checksum(&bytes[LENGTH..]) != u32_at(bytes, CRC) {
            return Err("the group has a wrong checksum");
        }
        let view = GroupView { header, bytes };
        let mut at = GROUP_HEADER;
        for _ in 0..header.records {
            at = view.record_end(at).ok_or("a record reaches beyond its group")?;
        }
        if at != bytes.len() {
            return Err("the records do not fill their group");
        }
        Ok(view)
    }

    /// The end of the record at a place of the group; `None` if it is not a record.
    fn record_end(&self, at: usize) -> Option<usize> {
        let header = self.bytes.get(at..at.checked_add(RECORD_HEADER)?)?;
        let payload = u32_at(header, 4) as usize;
        let end = at.checked_add(RECORD_HEADER)?.checked_add(payload)?.checked_next_multiple_of(UNIT)?;
        (u32_at(header, 0) >> 8 == at as u32 && end <= self.bytes.len()).then_some(end)
    }

    fn record(&self, at: usize) -> Option<Record<'a>> {
        self.record_end(at)?;
        let bytes: &'a [u8] = self.bytes;
        let payload = u32_at(bytes, at + 4) as usize;
        Some(Record {
            lsn: self.header.stamp.lsn + at as u64,
            group: self.header.stamp.lsn,
            kind: bytes[at],
            file: FileId(u32_at(bytes, at + 8)),
            page: u32_at(bytes, at + 12),
            payload: &bytes[at + RECORD_HEADER..at + RECORD_HEADER + payload],
        })
    }

    /// The records in their order.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let view = *self;
        let mut at = GROUP_HEADER;
        std::iter::from_fn(move || {
            let record = view.record(at)?;
            at = view.record_end(at)?;
            Some(record)
        })
    }

    /// The record at a position of the log, if one of the group's begins there.
    pub fn record_at(&self, lsn: Lsn) -> Option<Record<'a>> {
        self.records().find(|record| record.lsn == lsn)
    }
}

/// A record as it stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Position of the record's first byte: what a roll pointer holds.
    pub lsn: Lsn,
    /// Position of its group.
    pub group: Lsn,
    pub kind: u8,
    pub file: FileId,
    pub page: u32,
    pub payload: &'a [u8],
}

/// Returns where the group begins that has a record at this position, by what the record's header says.
pub(crate) fn group_of_record(record: &[u8; RECORD_HEADER], at: Lsn) -> Option<Lsn> {
    let distance = u64::from(u32_at(record, 0) >> 8);
    let aligned = distance.is_multiple_of(UNIT as u64) && distance >= GROUP_HEADER as u64;
    at.checked_sub(distance).filter(|_| aligned)
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
