//! Rows of the short path as packets, from the page to the bytes that are sent. What comes before the rows is kept with
//! the plan.

use super::{ResultCharset, Status, binary, column, eof, format::Format, result_set::Encoding, text};
use muster_engine::short_path::{RowSink, ShortPlan};
use muster_protocol::{packet, put_length};
use muster_types::ValueRef;
use mysql_common::constants::{CapabilityFlags, StatusFlags};
use std::sync::Arc;

/// The number of a result's first packet, when the statement came in one.
pub const FIRST_SEQUENCE: u8 = 1;
/// More memory is not kept from one result to the next, in bytes.
const SPARE_BYTES_MAX: usize = 64 << 10;
/// Bytes before a payload.
const HEADER_BYTES: usize = 4;

/// What decides the bytes of a result besides its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultShape {
    pub charset: ResultCharset,
    pub capabilities: CapabilityFlags,
    pub encoding: Encoding,
    /// What the EOF packet behind the columns says; a statement with warnings does not take the short path.
    pub flags: StatusFlags,
}

/// Column count and definitions as packets, and how values are written.
struct Head {
    shape: ResultShape,
    packets: Vec<u8>,
    /// The number of the packet behind them.
    sequence: u8,
    formats: Vec<Format>,
}

impl Head {
    fn new(plan: &ShortPlan, shape: ResultShape) -> Head {
        let (mut packets, mut sequence) = (Vec::new(), FIRST_SEQUENCE);
        let mut count = Vec::new();
        put_length(plan.columns().len() as u64, &mut count);
        packet::write(&count, &mut sequence, &mut packets);
        for info in plan.columns() {
            packet::write(&column::definition(info, shape.charset), &mut sequence, &mut packets);
        }
        if !shape.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
            packet::write(&eof(Status { flags: shape.flags, warnings: 0 }), &mut sequence, &mut packets);
        }
        let formats = plan.columns().iter().map(|info| Format::of(info, shape.charset)).collect();
        Head { shape, packets, sequence, formats }
    }
}

/// A result as packets.
#[derive(Default)]
pub struct ShortRows {
    shape: Option<ResultShape>,
    head: Option<Arc<Head>>,
    pub packets: Vec<u8>,
    /// The number of the next packet.
    pub sequence: u8,
    /// The column that is written next.
    column: usize,
    /// Where the packet of the row begins, and the NULL bitmap in it.
    row: usize,
    bitmap: usize,
}

impl ShortRows {
    /// Begins a statement, in the memory of the one before.
    pub fn reset(&mut self, shape: ResultShape) {
        self.packets.clear();
        self.packets.shrink_to(SPARE_BYTES_MAX);
        self.shape = Some(shape);
        self.head = None;
    }
}

impl RowSink for ShortRows {
    fn begin(&mut self, plan: &ShortPlan) {
        let Some(shape) = self.shape else { return };
        let head = plan.kept.get_or_make(|head: &Head| head.shape == shape, || Head::new(plan, shape));
        self.packets.clear();
        self.packets.extend_from_slice(&head.packets);
        self.sequence = head.sequence;
        self.head = Some(head);
    }

    fn begin_row(&mut self) {
        self.row = self.packets.len();
        self.column = 0;
        self.packets.extend_from_slice(&[0, 0, 0, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
        if let Some(head) = &self.head
            && head.shape.encoding == Encoding::Binary
        {
            self.bitmap = binary::begin_row(head.formats.len(), &mut self.packets);
        }
    }

    fn value(&mut self, value: ValueRef<'_>) {
        let Some(head) = &self.head else { return };
        let format = &head.formats[self.column];
        match head.shape.encoding {
            Encoding::Text => text::put(value, format, &mut self.packets),
            Encoding::Binary => binary::put(value, self.column, self.bitmap, format, &mut self.packets),
        }
        self.column += 1;
    }

    /// A row lies on a page, so it is shorter than the longest packet.
    fn end_row(&mut self) {
        let length = (self.packets.len() - self.row - HEADER_BYTES) as u32;
        self.packets[self.row..self.row + 3].copy_from_slice(&length.to_le_bytes()[..3]);
    }
}
