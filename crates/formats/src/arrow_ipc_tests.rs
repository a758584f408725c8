use super::*;
use arrow_array::{
    DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray,
    types::{Int8Type, Int32Type as I32},
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{Field, Schema};
use muster_types::{
    Collation,
    temporal::{DateModes, EpochMicros, date_code},
};

fn column(name: &str, ty: SqlType, nullable: bool) -> TargetColumn {
    TargetColumn {
        name: name.into(),
        ty,
        digits: None,
        nullable,
        default: None,
        time_zone: TimeZone::UTC,
        date_modes: DateModes::DEFAULT,
        cuts_fractions: false,
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<_> = columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|c| c.1).collect()).unwrap()
}

fn load(file: bool, batch: &RecordBatch, columns: &[TargetColumn]) -> Result<Vec<RecordBatch>> {
    let path =
        std::env::temp_dir().join(format!("load-{}-{:?}.arrow", std::process::id(), std::thread::current().id()));
    let out = File::create(&path).unwrap();
    if file {
        let mut writer = FileWriter::try_new(out, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    } else {
        let mut writer = StreamWriter::try_new(out, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    }
    let mut batches = Vec::new();
    let result = read_arrow(&path, columns, &mut |b| {
        batches.push(b);
        Ok(())
    });
    std::fs::remove_file(&path).unwrap();
    result.map(|_| batches)
}

fn columns() -> Vec<TargetColumn> {
    vec![
        column("id", SqlType::INT, false),
        column("name", SqlType::varchar(5, Collation::DEFAULT), true),
        column("price", SqlType::Decimal { precision: 5, scale: 2 }, true),
        column("day", SqlType::Date, true),
        TargetColumn { default: Some(Value::Int(3)), ..column("extra", SqlType::BIGINT, false) },
    ]
}

#[test]
fn files_and_streams_are_cast_to_the_tables_types() {
    let names: DictionaryArray<Int8Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    let batch = batch(vec![
        ("Day", Arc::new(StringArray::from(vec!["1998-09-02", "1970-01-01", "2000-02-29"]))),
        ("ID", Arc::new(Float64Array::from(vec![1.0, 2.5, 3.6]))),
        ("name", Arc::new(names)),
        ("price", Arc::new(Int32Array::from(vec![Some(1), None, Some(-999)]))),
    ]);
    for file in [true, false] {
        let got = &load(file, &batch, &columns()).unwrap()[0];
        assert_eq!(got.column(0).as_primitive::<I32>().values(), &[1, 2, 4]);
        assert_eq!(got.column(1).as_string_view().iter().collect::<Vec<_>>(), [Some("a"), None, Some("a")]);
        assert_eq!(got.column(2).as_primitive::<Decimal64Type>().value(2), -99_900);
        assert_eq!(got.column(3).as_primitive::<arrow_array::types::Date32Type>().value(1), date_code(1970, 1, 1));
        assert_eq!(got.column(4).as_ref(), &Int64Array::from(vec![3; 3]) as &dyn Array);
    }
}

#[test]
fn values_that_do_not_fit_are_named() {
    let error = |ids: ArrayRef, names: ArrayRef| {
        load(true, &batch(vec![("id", ids), ("name", names)]), &columns()).unwrap_err()
    };
    let ids = |v: Vec<Option<i64>>| Arc::new(Int64Array::from(v)) as ArrayRef;
    let names = |v: Vec<&str>| Arc::new(StringArray::from(v)) as ArrayRef;
    let e = error(ids(vec![Some(1), Some(1 << 40)]), names(vec!["a", "b"]));
    assert_eq!(e.code.number(), 1264);
    assert!(e.message.starts_with("Out of range value for column 'id' at row 2"), "{e}");
    assert!(e.message.ends_with(": '1099511627776')"), "{e}");
    let e = error(ids(vec![Some(1), None]), names(vec!["a", "too long"]));
    assert_eq!((e.code.number(), e.message.contains("column 'id' at row 2")), (1263, true), "{e}");
    let e = error(ids(vec![Some(1), Some(2)]), names(vec!["a", "too long"]));
    assert_eq!(e.code.number(), 1406);
    let e = load(true, &batch(vec![("nope", ids(vec![None]))]), &columns()).unwrap_err();
    assert_eq!(e.code.number(), 1054);
    let e = load(true, &batch(vec![("name", names(vec!["a"]))]), &columns()).unwrap_err();
    assert_eq!(e.code.number(), 1364);
}

#[test]
fn garbage_is_an_error() {
    let path = std::env::temp_dir().join(format!("load-garbage-{}.arrow", std::process::id()));
    for bytes in
        [&b""[..], b"ARROW1", b"ARROW1\0\0garbage garbage garbage", b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"text\n"]
    {
        std::fs::write(&path, bytes).unwrap();
        let result = read_arrow(&path, &columns(), &mut |_| Ok(()));
        assert!(result.is_err() || result == Ok(0) && bytes.is_empty(), "{bytes:?}: {result:?}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// Whatever byte is changed, the outcome is rows or an error.
#[test]
fn damaged_files_do_no_harm() {
    let batch = batch(vec![
        ("id", Arc::new(Int32Array::from(vec![1, 2, 3]))),
        ("name", Arc::new(StringArray::from(vec!["a", "bc", "def"]))),
    ]);
    let path = std::env::temp_dir().join(format!("load-damaged-{}.arrow", std::process::id()));
    for file in [true, false] {
        let mut bytes = Vec::new();
        if file {
            let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        } else {
            let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        let mut errors = 0;
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xFF;
            std::fs::write(&path, damaged).unwrap();
            errors += read_arrow(&path, &columns(), &mut |_| Ok(())).is_err() as usize;
        }
        assert!(errors > bytes.len() / 20, "{errors} of {}", bytes.len());
        for end in 0..bytes.len() - 1 {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let result = read_arrow(&path, &columns(), &mut |_| Ok(()));
            assert!(result.is_err() || !file, "cut at {end}: {result:?}");
        }
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn timestamps_are_moments() {
    use arrow_array::TimestampMicrosecondArray as Micros;
    let hour = 3_600_000_000;
    let at = |zone: Option<&str>| -> ArrayRef {
        Arc::new(Micros::from(vec![5 * hour]).with_timezone_opt(zone.map(str::to_owned)))
    };
    let column = |name, ty| TargetColumn { time_zone: TimeZone::Fixed(7200), ..column(name, ty, false) };
    let columns = [
        column("local", SqlType::Timestamp { fsp: 0 }),
        column("moment", SqlType::Timestamp { fsp: 0 }),
        column("datetime", SqlType::DateTime { fsp: 0 }),
    ];
    let batch = batch(vec![("local", at(None)), ("moment", at(Some("+05:00"))), ("datetime", at(None))]);
    let batches = load(true, &batch, &columns).unwrap();
    let micros = |i: usize| {
        let datetime = batches[0].column(i).as_primitive::<TimestampMicrosecondType>().value(0);
        EpochMicros::of_datetime(datetime).0
    };
    assert_eq!([micros(0), micros(1), micros(2)], [3 * hour, 5 * hour, 5 * hour]);
}
