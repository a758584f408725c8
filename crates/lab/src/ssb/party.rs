//! Customers and suppliers: a name, an address, a nation, a phone. They share the streams of phones and cities, and
//! customers go on where suppliers stopped.

use super::{
    Scale,
    stream::Stream,
    vocabulary::{ALPHABET, NATIONS, REGIONS, SEGMENTS},
};
use std::{fmt, ops::Range};

/// The columns that customers and suppliers have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    pub key: u64,
    pub name: String,
    pub address: String,
    pub city: String,
    pub nation: &'static str,
    pub region: &'static str,
    pub phone: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    pub party: Party,
    pub segment: &'static str,
}

/// Draws that an address moves its stream by, however many it uses.
const ADDRESS_DRAWS: u64 = 9;
const PHONE_SEED: u64 = 1_521_138_112;
/// City digits come from the stream of part manufacturers.
const CITY_SEED: u64 = 1;

struct PartyStreams {
    address: Stream,
    nation: Stream,
    phone: Stream,
    city: Stream,
}

impl PartyStreams {
    fn party(&mut self, title: &str, n: u64) -> Party {
        let nation = self.nation.uniform(0, NATIONS.len() as i64 - 1) as usize;
        let (name, region) = NATIONS[nation];
        let mut phone = |low, high| self.phone.uniform(low, high);
        Party {
            key: n + 1,
            name: format!("{title}#{:09}", n + 1),
            address: address(&mut self.address),
            city: format!("{:9.9}{}", name, self.city.uniform(0, 9)),
            nation: name,
            region: REGIONS[region],
            phone: format!("{}-{}-{}-{}", 10 + nation, phone(100, 999), phone(100, 999), phone(1000, 9999)),
        }
    }
}

/// 6 to 24 characters; every draw gives five of them.
fn address(stream: &mut Stream) -> String {
    let mut after = stream.clone();
    after.skip(ADDRESS_DRAWS);
    let length = stream.uniform(6, 24) as usize;
    let mut bits = 0;
    let text = (0..length)
        .map(|i| {
            if i % 5 == 0 {
                bits = stream.uniform(0, 2_147_483_647);
            }
            let c = ALPHABET[(bits % 64) as usize];
            bits /= 64;
            c as char
        })
        .collect();
    *stream = after;
    text
}

/// Suppliers `range` (positions from 0).
pub fn suppliers(scale: Scale, range: Range<u64>) -> impl Iterator<Item = Party> {
    let n = range.start;
    let mut streams = PartyStreams {
        address: Stream::at(706_178_559, ADDRESS_DRAWS * n),
        nation: Stream::at(110_356_601, n),
        phone: Stream::at(PHONE_SEED, 3 * n),
        city: Stream::at(CITY_SEED, 2 * scale.parts + n),
    };
    range.map(move |n| streams.party("Supplier", n))
}

/// Customers `range` (positions from 0).
pub fn customers(scale: Scale, range: Range<u64>) -> impl Iterator<Item = Customer> {
    let n = range.start;
    let mut streams = PartyStreams {
        address: Stream::at(881_155_353, ADDRESS_DRAWS * n),
        nation: Stream::at(1_489_529_863, n),
        phone: Stream::at(PHONE_SEED, 3 * scale.suppliers + 3 * n),
        city: Stream::at(CITY_SEED, 2 * scale.parts + scale.suppliers + n),
    };
    let mut segment = Stream::at(1_140_279_430, n);
    range.map(move |n| Customer { party: streams.party("Customer", n), segment: segment.pick(&SEGMENTS) })
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Party { key, name, address, city, nation, region, phone } = self;
        write!(f, "{key}|{name}|{address}|{city}|{nation}|{region}|{phone}|")
    }
}

impl fmt::Display for Customer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}|", self.party, self.segment)
    }
}
