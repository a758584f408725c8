//! Random schemas and rows for tests.

use crate::{ColumnSchema, IndexSchema, TableSchema};
use arrow_buffer::i256;
use muster_types::{
    BytesKind, Collation, Decimal, IntWidth, KeyPart, MemberList, NumberKind, SqlType, TextKind, UnsignedNumber, Value,
    store::decimal_max_256,
};
use proptest::{collection::vec, prelude::*};

pub fn int_type(width: IntWidth, unsigned: bool) -> SqlType {
    SqlType::Int { width, unsigned }
}

/// One column type of every kind.
pub fn any_type() -> impl Strategy<Value = SqlType> {
    let width = prop_oneof![
        Just(IntWidth::Tiny),
        Just(IntWidth::Small),
        Just(IntWidth::Medium),
        Just(IntWidth::Int),
        Just(IntWidth::Big)
    ];
    let collation = prop_oneof![
        Just(Collation::Utf8mb4_0900AiCi),
        Just(Collation::Utf8mb4Bin),
        Just(Collation::Utf8mb4GeneralCi),
        Just(Collation::Binary)
    ];
    prop_oneof![
        Just(SqlType::Bool),
        (width, any::<bool>()).prop_map(|(w, u)| int_type(w, u)),
        Just(SqlType::Decimal { precision: 12, scale: 2 }),
        Just(SqlType::Decimal { precision: 30, scale: 4 }),
        Just(SqlType::Decimal { precision: 65, scale: 30 }),
        Just(SqlType::Float),
        Just(SqlType::Double),
        Just(SqlType::Enum(members(2))),
        Just(SqlType::Enum(members(300))),
        Just(SqlType::Set(members(3))),
        Just(SqlType::Year),
        Just(SqlType::Bit { width: 64 }),
        Just(SqlType::Unsigned(UnsignedNumber {
            kind: NumberKind::Decimal { precision: 12, scale: 2 },
            zerofill: None,
        })),
        Just(SqlType::Date),
        Just(SqlType::DateTime { fsp: 6 }),
        Just(SqlType::Time { fsp: 0 }),
        collation.prop_map(|collation| SqlType::Text { kind: TextKind::VarChar, length: 200, collation }),
        Just(SqlType::Bytes { kind: BytesKind::VarBinary, length: 200 }),
    ]
}

/// Values of a type: few distinct ones, so that keys meet, and the extremes.
pub fn any_value(ty: SqlType, nullable: bool) -> BoxedStrategy<Value> {
    let ty = ty.stored_type();
    let value: BoxedStrategy<Value> = match ty {
        SqlType::Null | SqlType::Unsigned(_) => Just(Value::Null).boxed(),
        SqlType::Enum(members) => (0..=members.names().len() as u64).prop_map(Value::UInt).boxed(),
        SqlType::Set(members) => (0..=members.all_bits()).prop_map(Value::UInt).boxed(),
        SqlType::Year => prop_oneof![Just(0), 1901u64..2156].prop_map(Value::UInt).boxed(),
        SqlType::Bit { .. } => prop_oneof![0u64..9, any::<u64>()].prop_map(Value::UInt).boxed(),
        SqlType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        SqlType::Int { width, unsigned: false } => {
            let shift = 64 - 8 * crate::key::int_bytes(width) as u32;
            let extremes = prop_oneof![Just(i64::MIN >> shift), Just(i64::MAX >> shift)];
            prop_oneof![4 => (-20i64..20).boxed(), 1 => extremes.boxed()].prop_map(Value::Int).boxed()
        }
        SqlType::Int { width, unsigned: true } => {
            let shift = 64 - 8 * crate::key::int_bytes(width) as u32;
            prop_oneof![4 => (0u64..40).boxed(), 1 => Just(u64::MAX >> shift).boxed()].prop_map(Value::UInt).boxed()
        }
        SqlType::Decimal { precision, scale } => {
            let max = decimal_max_256(precision);
            let extremes = prop_oneof![Just(max), Just(max.wrapping_neg())];
            prop_oneof![4 => (-300i128..300).prop_map(i256::from_i128).boxed(), 1 => extremes.boxed()]
                .prop_map(move |unscaled| Value::Decimal(Decimal::wide(unscaled, scale)))
                .boxed()
        }
        SqlType::Float => prop_oneof![(-5i32..5).prop_map(|x| x as f32 / 2.0), Just(f32::MAX), Just(f32::MIN)]
            .prop_map(Value::Float)
            .boxed(),
        SqlType::Double => prop_oneof![(-5i32..5).prop_map(|x| x as f64 / 2.0), Just(f64::MAX), Just(f64::MIN)]
            .prop_map(Value::Double)
            .boxed(),
        SqlType::Date => (-400i32..20_000).prop_map(Value::Date).boxed(),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => {
            any::<i32>().prop_map(|x| Value::DateTime(x as i64 * 1_000_003)).boxed()
        }
        SqlType::Time { .. } => (-50i64..50).prop_map(Value::Time).boxed(),
        SqlType::Json => Just(Value::Json(muster_types::json::NULL_BYTES.to_vec())).boxed(),
        SqlType::Text { .. } => prop_oneof!["[abAB]{0,3}", "[a-zäÄß\u{0}é😀 ]{0,30}"].prop_map(Value::Text).boxed(),
        SqlType::Bytes { .. } => {
            prop_oneof![vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..4), vec(any::<u8>(), 0..30)]
                .prop_map(Value::Bytes)
                .boxed()
        }
    };
    if nullable { prop_oneof![1 => Just(Value::Null).boxed(), 4 => value].boxed() } else { value }
}

/// A table with a primary key (or none) and up to two secondary indexes.
pub fn any_schema() -> impl Strategy<Value = TableSchema> {
    let column = (any_type(), any::<bool>()).prop_map(|(ty, nullable)| ColumnSchema { ty, nullable });
    let part =
        (any::<prop::sample::Index>(), any::<bool>(), prop_oneof![2 => Just(None), 1 => (1u32..4).prop_map(Some)]);
    let index = (vec(part, 1..4), any::<bool>());
    (vec(column, 1..6), any::<bool>(), vec(index, 1..4)).prop_map(|(mut columns, keyed, indexes)| {
        let mut schema = TableSchema { layouts: Default::default(), columns: columns.clone(), indexes: Vec::new() };
        for (i, (parts, unique)) in indexes.into_iter().enumerate() {
            let mut spec = IndexSchema { id: i as u32 + 1, parts: Vec::new(), unique: unique || i == 0 };
            for (column, descending, prefix) in parts {
                let column = column.index(columns.len());
                if spec.parts.iter().any(|p: &KeyPart| p.column == column) || i == 0 && !keyed {
                    continue;
                }
                let strings = columns[column].ty.is_text() || columns[column].ty.is_bytes();
                // Primary keys take whole values here, so that their rows are all different.
                let prefix = prefix.filter(|_| strings && i > 0);
                spec.parts.push(KeyPart { column, prefix, descending });
                if i == 0 {
                    columns[column].nullable = false;
                }
            }
            schema.indexes.push(spec);
        }
        schema.columns = columns;
        schema
    })
}

/// Rows of a table, in no order.
pub fn any_rows(schema: &TableSchema, count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<Value>>> + use<> {
    let row: Vec<_> = schema.columns.iter().map(|c| any_value(c.ty, c.nullable)).collect();
    vec(row, count)
}

fn members(count: usize) -> MemberList {
    MemberList::new((0..count).map(|i| format!("member {i}")).collect(), Collation::DEFAULT)
}
