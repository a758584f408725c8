//! Reading the log: group by group from a position on.

use super::{
    Lsn,
    geometry::SEGMENT_HEADER,
    group::{GROUP_HEADER, GroupHeader, GroupView, Identity},
    segments::Segments,
};
use crate::{
    Result,
    io::{ALIGN, AlignedBuf},
};

/// Bytes that are read at once; a group that is longer is read as a whole.
const CHUNK: usize = 256 << 10;

/// A piece of a segment in memory.
pub(crate) struct Window<'a> {
    segments: &'a Segments,
    buffer: AlignedBuf,
    /// The position of the buffer's first byte.
    start: Lsn,
    /// Bytes of the buffer that were read.
    filled: usize,
    /// Bytes that are read at once, and how many of them are before what is asked for.
    chunk: usize,
    before: u64,
}

impl<'a> Window<'a> {
    /// A window that reads ahead.
    pub fn new(segments: &'a Segments) -> Window<'a> {
        Window { segments, buffer: AlignedBuf::zeroed(ALIGN), start: 0, filled: 0, chunk: CHUNK, before: 0 }
    }

    /// A window that reads what is asked for only.
    pub fn small(segments: &'a Segments) -> Window<'a> {
        Window { chunk: ALIGN, ..Window::new(segments) }
    }

    /// A window that reads as much before what is asked for as behind it.
    pub fn around(segments: &'a Segments) -> Window<'a> {
        Window { before: CHUNK as u64 / 2, ..Window::new(segments) }
    }

    /// Forgets what it holds. Returns whether it held anything.
    pub fn clear(&mut self) -> bool {
        std::mem::take(&mut self.filled) > 0
    }

    /// Bytes of the log within one segment; `None` if the segment has no file.
    pub fn bytes(&mut self, at: Lsn, len: usize) -> Result<Option<&[u8]>> {
        debug_assert!(len as u64 <= self.segments.format.geometry.rest(at));
        let held = self.start..self.start + self.filled as u64;
        let is_held = held.contains(&at) && at + len as u64 <= held.end;
        if !is_held && !self.fill(at, len)? {
            return Ok(None);
        }
        let from = (at - self.start) as usize;
        Ok(Some(&self.buffer[from..from + len]))
    }

    /// Reads a piece that holds these bytes.
    fn fill(&mut self, at: Lsn, len: usize) -> Result<bool> {
        let geometry = self.segments.format.geometry;
        let Some(file) = self.segments.file(geometry.segment_of(at))? else { return Ok(false) };
        let start = at - at % ALIGN as u64;
        let start = start.saturating_sub(self.before).max(geometry.start_of(geometry.segment_of(at)));
        let wanted = ((at - start) as usize + len).max(self.chunk).next_multiple_of(ALIGN);
        let bytes = wanted.min(geometry.rest(start) as usize);
        if self.buffer.len() < bytes {
            self.buffer = AlignedBuf::zeroed(bytes);
        }
        self.filled = 0;
        self.segments.files.read(&file, geometry.offset(start), &mut self.buffer[..bytes])?;
        (self.start, self.filled) = (start, bytes);
        Ok(true)
    }

    /// Checks the header of a segment. Errors in the result: why it is not the one expected.
    pub fn check_segment(&mut self, number: u64) -> Result<Result<(), String>> {
        let format = self.segments.format;
        let header = self.bytes(format.geometry.start_of(number), SEGMENT_HEADER as usize)?;
        Ok(match header.and_then(|bytes| bytes.first_chunk()) {
            Some(header) => format.check(header, number),
            None => Err("the segment is missing".to_string()),
        })
    }

    /// The group that begins at a position. Errors in the result: why none does.
    pub fn group(&mut self, at: Lsn) -> Result<Result<GroupView<'_>, &'static str>> {
        let format = self.segments.format;
        let Some(header) = self.bytes(at, GROUP_HEADER)?.and_then(|bytes| bytes.first_chunk()) else {
            return Ok(Err("the segment is missing"));
        };
        let header = match GroupHeader::read(header, at, format.geometry) {
            Ok(header) => header,
            Err(reason) => return Ok(Err(reason)),
        };
        let bytes = self.bytes(at, header.checked_bytes())?;
        Ok(match bytes {
            Some(bytes) => GroupView::new(header, bytes, Identity::new(format.identity)),
            None => Err("the segment is missing"),
        })
    }
}

/// The next thing that a reader of the log meets.
pub(crate) enum Next<'b> {
    Group(GroupView<'b>),
    /// No valid group begins here; why.
    End(String),
}

/// The groups of the log in their order.
pub(crate) struct Groups<'a> {
    window: Window<'a>,
    /// The end of the last group, or where reading began.
    at: Lsn,
    /// The epoch of the last group, or 0.
    epoch: u32,
    /// Groups from this position on have this epoch or a higher one.
    bound: (Lsn, u32),
}

impl<'a> Groups<'a> {
    /// Reads from `from` on, where a group begins. `bound`: from this position on groups have this epoch or a higher
    /// one, as a checkpoint knows.
    pub fn new(segments: &'a Segments, from: Lsn, bound: (Lsn, u32)) -> Groups<'a> {
        Groups { window: Window::new(segments), at: from, epoch: 0, bound }
    }

    /// The end of the last group.
    pub fn position(&self) -> Lsn {
        self.at
    }

    /// The epoch of the last group; 0 before the first one.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Reads the next group, past fills. At the end of the log the position stays. Errors: I/O.
    pub fn next(&mut self) -> Result<Next<'_>> {
        let geometry = self.window.segments.format.geometry;
        let at = loop {
            let at = geometry.place(self.at);
            if geometry.offset(at) == SEGMENT_HEADER
                && let Err(reason) = self.window.check_segment(geometry.segment_of(at))?
            {
                return Ok(Next::End(reason));
            }
            let header = match self.window.group(at)? {
                Ok(group) => group.header,
                Err(reason) => return Ok(Next::End(reason.to_string())),
            };
            let lowest = if at >= self.bound.0 { self.epoch.max(self.bound.1) } else { self.epoch };
            if header.stamp.epoch < lowest {
                return Ok(Next::End(format!("the group has epoch {}, below {lowest}", header.stamp.epoch)));
            }
            self.epoch = header.stamp.epoch;
            self.at = header.end();
            if !header.is_fill() {
                break at;
            }
        };
        // It was read just now, so the window holds it.
        Ok(match self.window.group(at)? {
            Ok(group) => Next::Group(group),
            Err(reason) => Next::End(reason.to_string()),
        })
    }
}
