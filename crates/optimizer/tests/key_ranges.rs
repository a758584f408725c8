//! Random conditions over random tables: the ranges and the steering of every index, as bytes of keys, let every row
//! through for which the conditions are TRUE, and conditions said to be implied are TRUE for all rows in the ranges.

use muster_algebra::{
    ColId, ColumnDef, CompareOp, Expr, IndexDef, KeyPart, LogicOp, SqlType, Switch, TableDef, TableId, Value,
};
use muster_eval::{Evaluator, PLANNED_TEXT_BYTES_MAX};
use muster_optimizer::Options;
use muster_optimizer::ranges::{Domains, IndexRanges, KnownRanges};
use muster_storage::key::{ByteRange, KeyCodec};
use muster_storage::tree::TreeLayout;
use muster_storage::{ColumnSchema, IndexSchema, TableSchema};
use muster_types::{BytesKind, Collation, Decimal, temporal::MICROS_PER_DAY};
use std::ops::Bound;

/// xorshift64*: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }
}

const CHARS: [&str; 9] = ["a", "A", "b", "é", "ß", "s", " ", "\u{1}", "z"];

struct Case {
    random: Random,
    table: TableDef,
    columns: Vec<(ColId, usize)>,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let types: Vec<SqlType> = (0..2 + random.below(3)).map(|_| any_type(&mut random)).collect();
        let column = |(i, ty): (usize, &SqlType)| ColumnDef::plain(format!("c{i}"), *ty, i > 0 && i % 2 == 1);
        let mut table = TableDef {
            id: TableId(1),
            database: "d".into(),
            name: "t".into(),
            columns: types.iter().enumerate().map(column).collect(),
            indexes: Vec::new(),
            collation: Collation::DEFAULT,
            comment: String::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        };
        for id in 0..3 {
            let mut columns: Vec<usize> = (0..types.len()).filter(|c| id > 0 || !table.columns[*c].nullable).collect();
            let mut parts = Vec::new();
            for _ in 0..(1 + random.below(3)).min(columns.len()) {
                let column = columns.remove(random.below(columns.len()));
                let cut = matches!(types[column], SqlType::Text { .. } | SqlType::Bytes { .. }) && random.one_in(2);
                let prefix = cut.then(|| 1 + random.below(3) as u32);
                parts.push(KeyPart { column, prefix, descending: random.one_in(3) });
            }
            table.indexes.push(IndexDef { id, name: format!("i{id}"), parts, unique: id == 0, invisible: false });
        }
        let columns = (0..types.len()).map(|c| (ColId(c as u32), c)).collect();
        Case { random, table, columns }
    }

    fn row(&mut self) -> Vec<Value> {
        let columns = self.table.columns.clone();
        columns
            .iter()
            .map(|c| if c.nullable && self.random.one_in(4) { Value::Null } else { any_value(&mut self.random, c.ty) })
            .collect()
    }

    /// A constant to compare a column with, and the column's side of the comparison.
    fn operands(&mut self, column: usize) -> (Expr, Expr) {
        let ty = self.table.columns[column].ty;
        let bare = Expr::Column(ColId(column as u32));
        if self.random.one_in(20) {
            return (bare, Expr::null(ty));
        }
        let wider = match ty {
            SqlType::Int { .. } => Some(SqlType::Decimal { precision: 20, scale: 1 }),
            SqlType::Decimal { .. } => Some(SqlType::Decimal { precision: 20, scale: 3 }),
            SqlType::Date => Some(SqlType::DateTime { fsp: 0 }),
            _ => None,
        };
        if let Some(wider) = wider.filter(|_| self.random.one_in(4)) {
            let value = match wider {
                SqlType::DateTime { .. } => Value::DateTime(self.random.below(8) as i64 * MICROS_PER_DAY / 2),
                SqlType::Decimal { scale, .. } => {
                    Value::Decimal(Decimal::new(self.random.below(4000) as i128 - 2000, scale))
                }
                _ => unreachable!("none of the wider types"),
            };
            return (Expr::Cast { arg: Box::new(bare), ty: wider }, Expr::literal(value, wider));
        }
        let value = any_value(&mut self.random, ty);
        (bare, Expr::literal(value, ty))
    }

    fn condition(&mut self, depth: usize) -> Expr {
        use CompareOp::*;
        if depth > 0 && self.random.one_in(2) {
            let op = self.random.pick(&[LogicOp::And, LogicOp::Or, LogicOp::Or]);
            let args = (0..2 + self.random.below(2)).map(|_| self.condition(depth - 1)).collect();
            return Expr::Logic { op, args };
        }
        let column = self.random.below(self.columns.len());
        let bare = Expr::Column(ColId(column as u32));
        match self.random.below(10) {
            0 => Expr::IsNull { arg: Box::new(bare), negated: self.random.one_in(2) },
            1 | 2 => {
                let (arg, first) = self.operands(column);
                let mut list = vec![first];
                for _ in 0..self.random.below(4) {
                    let (other, value) = self.operands(column);
                    if other == arg {
                        list.push(value);
                    }
                }
                Expr::InList { arg: Box::new(arg), list, negated: self.random.one_in(3) }
            }
            3 | 4 if self.table.columns[column].ty.is_text() => {
                let chars: String = (0..self.random.below(5)).map(|_| self.random.pick(&CHARS)).collect();
                let pattern = match self.random.below(4) {
                    0 => chars,
                    1 => format!("{chars}_a%"),
                    _ => format!("{chars}%"),
                };
                let pattern = Expr::literal(Value::Text(pattern), self.table.columns[column].ty);
                let (arg, pattern) = (Box::new(bare), Box::new(pattern));
                Expr::Like { arg, pattern, escape: Some('\\'), negated: self.random.one_in(6) }
            }
            5 => {
                let (left, right) = self.operands(column);
                Expr::Not(Box::new(Expr::compare(NullSafeEq, left, right)))
            }
            _ => {
                let op = self.random.pick(&[Eq, Eq, NotEq, Lt, LtEq, Gt, GtEq, NullSafeEq]);
                let (left, right) = self.operands(column);
                if self.random.one_in(2) { Expr::compare(op, left, right) } else { Expr::compare(op, right, left) }
            }
        }
    }

    fn is_true(&self, condition: &Expr, row: &[Value]) -> bool {
        let mut evaluator = Evaluator {
            value: &|id| row.get(id.0 as usize).cloned(),
            ty: &|id| self.table.columns.get(id.0 as usize).map(|c| c.ty),
            parameters: &[],
            warn: &mut |_| {},
            text_bytes_max: PLANNED_TEXT_BYTES_MAX,
            reserve: &mut |_| Ok(()),
            last_insert_id: None,
            states: None,
        };
        matches!(evaluator.eval(condition), Some(Ok(Value::Bool(true))))
    }
}

fn any_type(random: &mut Random) -> SqlType {
    match random.below(9) {
        0 => SqlType::TINYINT,
        1 => SqlType::INT,
        2 => SqlType::Decimal { precision: 4, scale: 1 },
        3 => SqlType::Date,
        4 => SqlType::Double,
        5 => SqlType::Bytes { kind: BytesKind::VarBinary, length: 9 },
        _ => SqlType::varchar(9, random.pick(Collation::all())),
    }
}

fn any_value(random: &mut Random, ty: SqlType) -> Value {
    match ty {
        SqlType::Int { .. } => Value::Int(random.below(6) as i64 - 2),
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal::new(random.below(40) as i128 - 20, scale)),
        SqlType::Date => Value::Date(random.below(5) as i32),
        SqlType::Double => Value::Double([-1.5, -0.0, 0.0, 2.0][random.below(4)]),
        SqlType::Bytes { .. } => Value::Bytes((0..random.below(5)).map(|_| [0u8, 1, 0xFF][random.below(3)]).collect()),
        _ => Value::Text((0..random.below(5)).map(|_| random.pick(&CHARS)).collect()),
    }
}

/// What storage makes of an index's ranges.
struct Bytes {
    codec: KeyCodec,
    ranges: Vec<ByteRange>,
}

impl Bytes {
    fn of(table: &TableDef, index: usize, found: &IndexRanges) -> Bytes {
        let schema = TableSchema {
            layouts: Default::default(),
            columns: table.columns.iter().map(|c| ColumnSchema { ty: c.ty, nullable: c.nullable }).collect(),
            indexes: table
                .indexes
                .iter()
                .map(|i| IndexSchema { id: i.id, parts: i.parts.clone(), unique: i.unique })
                .collect(),
        };
        let codec = TreeLayout::new(&schema, index).key;
        let parts = table.key_parts(index);
        assert_eq!(codec.parts.len(), parts.len(), "parts of {:?}", table.indexes);
        for (stored, part) in codec.parts.iter().zip(&parts) {
            assert_eq!((stored.prefix, stored.descending), (part.prefix, part.descending));
        }
        let ranges: Vec<ByteRange> =
            found.ranges.iter().filter_map(|r| codec.byte_range(r).expect("values of the columns' types")).collect();
        // Where values are cut, storage may widen bounds and then joins what overlaps.
        if parts.iter().all(|p| p.prefix.is_none()) {
            for pair in ranges.windows(2) {
                let upper = pair[0].upper.as_ref().expect("only the last range is open");
                assert!(*upper <= pair[1].lower, "ranges overlap: {:?}", found.ranges);
            }
        }
        Bytes { codec, ranges }
    }

    fn key(&self, table: &TableDef, index: usize, row: &[Value]) -> Vec<Vec<u8>> {
        let parts = table.key_parts(index);
        let part = |(i, p): (usize, &KeyPart)| self.part(i, &row[p.column]);
        parts.iter().enumerate().map(part).collect()
    }

    /// The bytes of one part.
    fn part(&self, part: usize, value: &Value) -> Vec<u8> {
        let single = KeyCodec { parts: vec![self.codec.parts[part].clone()] };
        let mut bytes = Vec::new();
        single.append_values(std::slice::from_ref(value), &mut bytes).expect("a value of the column's type");
        bytes
    }

    fn in_ranges(&self, key: &[Vec<u8>]) -> bool {
        let key = key.concat();
        self.ranges.iter().any(|r| r.contains(&key))
    }

    fn is_steered_to(&self, key: &[Vec<u8>], found: &IndexRanges) -> bool {
        found.steering.iter().enumerate().all(|(i, intervals)| {
            let Some(intervals) = intervals else { return true };
            let at = |v: &Value| key[i].cmp(&self.part(i, v));
            intervals.iter().any(|interval| {
                (match &interval.lower {
                    Bound::Unbounded => true,
                    Bound::Included(v) => at(v).is_ge(),
                    Bound::Excluded(v) => at(v).is_gt(),
                }) && (match &interval.upper {
                    Bound::Unbounded => true,
                    Bound::Included(v) => at(v).is_le(),
                    Bound::Excluded(v) => at(v).is_lt(),
                })
            })
        })
    }
}

#[derive(Default)]
struct Seen {
    ranges: usize,
    several: usize,
    implied: usize,
    steering: usize,
    prefixes: usize,
    true_rows: usize,
}

fn check(seed: u64, options: &Options, seen: &mut Seen) {
    let mut case = Case::new(seed);
    let conjuncts: Vec<Expr> = (0..1 + case.random.below(3)).map(|_| case.condition(3)).collect();
    let rows: Vec<Vec<Value>> = (0..60).map(|_| case.row()).collect();
    let known = KnownRanges::default();
    let domains = Domains::new(&case.table, &case.columns, &conjuncts, options, &known);
    for index in 0..case.table.indexes.len() {
        let Some(found) = domains.ranges(index) else { continue };
        let bytes = Bytes::of(&case.table, index, &found);
        seen.ranges += 1;
        seen.several += usize::from(found.ranges.len() > 1);
        seen.implied += usize::from(found.implied.contains(&true));
        seen.steering += usize::from(!found.steering.is_empty());
        seen.prefixes += usize::from(case.table.key_parts(index)[0].prefix.is_some());
        for row in &rows {
            let key = bytes.key(&case.table, index, row);
            let truths: Vec<bool> = conjuncts.iter().map(|c| case.is_true(c, row)).collect();
            let all = truths.iter().all(|t| *t);
            seen.true_rows += usize::from(all);
            let (inside, steered) = (bytes.in_ranges(&key), bytes.is_steered_to(&key, &found));
            let context = || {
                let (parts, types) = (case.table.key_parts(index), &case.table.columns);
                let types: Vec<String> = types.iter().map(|c| format!("{:?}", c.ty)).collect();
                format!("seed {seed}, row {row:?}\nparts {parts:?}\n{types:?}\n{conjuncts:?}\n{found:?}")
            };
            assert!(inside || !all, "a row outside the ranges: {}", context());
            assert!(steered || !all, "a row that is skipped: {}", context());
            for (truth, implied) in truths.iter().zip(&found.implied) {
                assert!(*truth || !implied || !inside, "a condition that is not implied: {}", context());
            }
        }
    }
}

#[test]
fn ranges_hold_all_rows_and_imply_what_they_say() {
    let mut seen = Seen::default();
    (0..6000).for_each(|seed| check(seed, &Options::default(), &mut seen));
    // The cases are worth something.
    let all = [seen.several, seen.implied, seen.steering, seen.prefixes, seen.true_rows];
    assert!(seen.ranges > 6000 && all.iter().all(|n| *n > 1000), "{} {all:?}", seen.ranges);
}

#[test]
fn little_memory_makes_wider_ranges() {
    let mut options = Options::default();
    options.range_optimizer_max_mem_size = 3 * 230;
    (0..2000).for_each(|seed| check(seed, &options, &mut Seen::default()));
    options.range_optimizer_max_mem_size = 0;
    options.set(Switch::UseIndexExtensions, false);
    (0..500).for_each(|seed| check(seed, &options, &mut Seen::default()));
}
