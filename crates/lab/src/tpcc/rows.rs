//! The rows of the initial population (clause 4.3.3.1). Every piece of a table is made by itself and is the same
//! whenever it is made.

use super::{
    Scale, Table,
    random::{NuRandConstants, TpccRandom, last_name},
    scale::DISTRICTS,
    tables::ITEM_PIECES,
};
use muster_engine::types::{
    Decimal, Value,
    temporal::{date_code, datetime_of},
};

/// When all rows came into being. A constant, so that the data are the same every time.
const LOADED_AT: i64 = datetime_of(date_code(2024, 1, 1), 0);

/// An order of the initial population.
struct InitialOrder {
    id: u32,
    customer: u32,
    carrier: Option<u32>,
    lines: u32,
}

fn int(number: u32) -> Value {
    Value::Int(number.into())
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// An amount of money in hundredths.
pub fn money(cents: i64) -> Value {
    Value::Decimal(Decimal::new(cents.into(), 2))
}

/// A rate in ten-thousandths.
fn rate(ten_thousandths: u32) -> Value {
    Value::Decimal(Decimal::new(ten_thousandths.into(), 4))
}

impl Table {
    /// The rows of one piece, columns in the schema's order.
    pub(super) fn piece(self, scale: Scale, piece: u32) -> Vec<Vec<Value>> {
        let mut random = TpccRandom::new(scale.seed, (self as u64 + 1) << 32 | u64::from(piece));
        let (w, d) = (piece / DISTRICTS + 1, piece % DISTRICTS + 1);
        match self {
            Table::Item => items(scale, piece).map(|i| item(&mut random, i)).collect(),
            Table::Warehouse => vec![warehouse(&mut random, scale, piece + 1)],
            Table::District => (1..=DISTRICTS).map(|d| district(&mut random, scale, piece + 1, d)).collect(),
            Table::Customer => (1..=scale.customers).map(|c| customer(&mut random, scale, w, d, c)).collect(),
            Table::History => (1..=scale.customers).map(|c| history(&mut random, w, d, c)).collect(),
            Table::Stock => {
                let w = piece / ITEM_PIECES + 1;
                items(scale, piece % ITEM_PIECES).map(|i| stock(&mut random, w, i)).collect()
            }
            Table::Orders => orders(scale, piece).iter().map(|order| order_row(order, w, d)).collect(),
            Table::NewOrders => {
                (scale.delivered() + 1..=scale.customers).map(|o| vec![int(o), int(d), int(w)]).collect()
            }
            Table::OrderLine => {
                orders(scale, piece).iter().flat_map(|order| lines(&mut random, scale, order, w, d)).collect()
            }
        }
    }
}

/// The items of a piece.
fn items(scale: Scale, piece: u32) -> std::ops::RangeInclusive<u32> {
    let bound = |piece: u32| (u64::from(scale.items) * u64::from(piece) / u64::from(ITEM_PIECES)) as u32;
    bound(piece) + 1..=bound(piece + 1)
}

fn item(random: &mut TpccRandom, id: u32) -> Vec<Value> {
    let image = int(random.number(1, 10_000));
    let (name, price) = (random.letters(14, 24), random.number(100, 10_000));
    vec![int(id), image, text(name), money(price.into()), text(random.data())]
}

/// Two streets, city, state and zip.
fn address(random: &mut TpccRandom) -> [Value; 5] {
    let places = [(10, 20), (10, 20), (10, 20), (2, 2)].map(|(min, max)| text(random.letters(min, max)));
    let [street_1, street_2, city, state] = places;
    [street_1, street_2, city, state, text(random.zip())]
}

fn warehouse(random: &mut TpccRandom, scale: Scale, w: u32) -> Vec<Value> {
    let mut row = vec![int(w), text(random.letters(6, 10))];
    row.extend(address(random));
    // What all districts together have: 300,000.00.
    row.extend([rate(random.number(0, 2000)), money(i64::from(DISTRICTS * scale.customers) * 1000)]);
    row
}

fn district(random: &mut TpccRandom, scale: Scale, w: u32, d: u32) -> Vec<Value> {
    let mut row = vec![int(d), int(w), text(random.letters(6, 10))];
    row.extend(address(random));
    // What all its customers have paid: 30,000.00.
    row.extend([rate(random.number(0, 2000)), money(i64::from(scale.customers) * 1000), int(scale.customers + 1)]);
    row
}

fn customer(random: &mut TpccRandom, scale: Scale, w: u32, d: u32, c: u32) -> Vec<Value> {
    let name = match c - 1 {
        number @ 0..1000 => number,
        _ => random.non_uniform(255, NuRandConstants::LOAD.last_name, 0, 999),
    };
    debug_assert!(name < scale.last_names());
    let mut row = vec![int(c), int(d), int(w), text(random.letters(8, 16)), text("OE"), text(last_name(name))];
    row.extend(address(random));
    row.extend([text(random.digits(16)), Value::DateTime(LOADED_AT)]);
    row.push(text(if random.percent(10) { "BC" } else { "GC" }));
    row.extend([money(50_000 * 100), rate(random.number(0, 5000)), money(-1000), money(1000)]);
    row.extend([int(1), int(0), text(random.letters(300, 500))]);
    row
}

fn history(random: &mut TpccRandom, w: u32, d: u32, c: u32) -> Vec<Value> {
    let data = text(random.letters(12, 24));
    vec![int(c), int(d), int(w), int(d), int(w), Value::DateTime(LOADED_AT), money(1000), data]
}

fn stock(random: &mut TpccRandom, w: u32, i: u32) -> Vec<Value> {
    let mut row = vec![int(i), int(w), int(random.number(10, 100))];
    row.extend((1..=DISTRICTS).map(|_| text(random.letters(24, 24))));
    row.extend([int(0), int(0), int(0), text(random.data())]);
    row
}

/// The orders of a district, in a stream of random values of their own: their lines need them too.
fn orders(scale: Scale, piece: u32) -> Vec<InitialOrder> {
    let mut random = TpccRandom::new(scale.seed, (Table::Orders as u64 + 1) << 32 | u64::from(piece));
    let customers = random.permutation(scale.customers);
    let order = |(id, customer): (u32, u32)| InitialOrder {
        id,
        customer,
        carrier: (id <= scale.delivered()).then(|| random.number(1, 10)),
        lines: random.number(5, 15),
    };
    (1..).zip(customers).map(order).collect()
}

fn order_row(order: &InitialOrder, w: u32, d: u32) -> Vec<Value> {
    let carrier = order.carrier.map_or(Value::Null, int);
    let (entry, lines) = (Value::DateTime(LOADED_AT), int(order.lines));
    vec![int(order.id), int(d), int(w), int(order.customer), entry, carrier, lines, int(1)]
}

fn lines(random: &mut TpccRandom, scale: Scale, order: &InitialOrder, w: u32, d: u32) -> Vec<Vec<Value>> {
    let line = |number| {
        let item = random.number(1, scale.items);
        let (delivery, cents) = match order.carrier {
            Some(_) => (Value::DateTime(LOADED_AT), 0),
            None => (Value::Null, random.number(1, 999_999)),
        };
        let mut row = vec![int(order.id), int(d), int(w), int(number), int(item), int(w)];
        row.extend([delivery, int(5), money(cents.into()), text(random.letters(24, 24))]);
        row
    };
    (1..=order.lines).map(line).collect()
}
