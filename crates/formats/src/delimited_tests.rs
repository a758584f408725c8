use super::*;
use crate::{TargetColumn, csv_header};
use arrow_array::{Array, cast::AsArray, types::Int32Type};
use muster_types::{Collation, IntWidth, SqlType, TextKind, temporal::DateModes, time_zone::TimeZone};

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

fn varchar(n: u32) -> SqlType {
    SqlType::varchar(n, Collation::DEFAULT)
}

struct Loaded {
    result: Result<DelimitedSummary>,
    batches: Vec<RecordBatch>,
    warnings: Vec<(u16, String)>,
}

fn load(options: &DelimitedOptions, text: &[u8]) -> Loaded {
    let (mut batches, mut warnings) = (Vec::new(), Vec::new());
    let result = read_delimited(
        &mut &text[..],
        options,
        &mut |_, code, message| warnings.push((code.number(), message)),
        &mut |batch, _| {
            batches.push(batch);
            Ok(())
        },
    );
    Loaded { result, batches, warnings }
}

/// One NOT NULL column of this type; the error that this text gives.
fn error_of(ty: SqlType, text: &str) -> (u16, String) {
    let columns = vec![column("id", SqlType::INT, false), column("c", ty, false)];
    let options = DelimitedOptions::all_columns(DelimitedFormat::default(), columns, "f.txt");
    let text = [b"1\t", text.as_bytes(), b"\n"].concat();
    let error = load(&options, &text).result.expect_err("the value is wrong");
    (error.code.number(), error.message)
}

#[test]
fn errors_have_mysqls_numbers_and_words() {
    let decimal = SqlType::Decimal { precision: 5, scale: 2 };
    let tiny = SqlType::Int { width: IntWidth::Tiny, unsigned: true };
    let medium = SqlType::Int { width: IntWidth::Medium, unsigned: false };
    let place = "(f.txt, line 1";
    for (ty, text, number, words) in [
        (SqlType::INT, "abc", 1366, "Incorrect integer value: 'abc' for column 'c' at row 1"),
        (SqlType::INT, "", 1366, "Incorrect integer value: '' for column 'c' at row 1"),
        (SqlType::INT, "12x", 1265, "Data truncated for column 'c' at row 1"),
        (tiny, "256", 1264, "Out of range value for column 'c' at row 1"),
        (tiny, "-1", 1264, "Out of range value for column 'c' at row 1"),
        (medium, "8388608", 1264, "Out of range value for column 'c' at row 1"),
        (decimal, "x", 1366, "Incorrect decimal value: 'x' for column 'c' at row 1"),
        (decimal, "1000", 1264, "Out of range value for column 'c' at row 1"),
        (SqlType::Double, "x", 1265, "Data truncated for column 'c' at row 1"),
        (SqlType::Date, "2021-02-30", 1292, "Incorrect date value: '2021-02-30' for column 'c' at row 1"),
        (SqlType::DateTime { fsp: 0 }, "x", 1292, "Incorrect datetime value: 'x' for column 'c' at row 1"),
        (SqlType::Time { fsp: 0 }, "x", 1292, "Incorrect time value: 'x' for column 'c' at row 1"),
        (varchar(3), "abcd", 1406, "Data too long for column 'c' at row 1"),
        (varchar(3), "\\N", 1263, "Column set to default value; NULL supplied to NOT NULL column 'c' at row 1"),
    ] {
        let (got, message) = error_of(ty, text);
        assert_eq!(got, number, "{ty} {text}: {message}");
        assert!(message.starts_with(&format!("{words} {place}")), "{message}");
    }
    assert_eq!(error_of(tiny, "256").1, "Out of range value for column 'c' at row 1 (f.txt, line 1: '256')");
}

#[test]
fn text_that_is_not_utf8_is_an_error() {
    let options = DelimitedOptions::all_columns(DelimitedFormat::tbl(), vec![column("c", varchar(10), false)], "f");
    let error = load(&options, b"ok|\na\xFFb|\n").result.unwrap_err();
    assert_eq!(error.code.number(), 1366);
    assert_eq!(error.message, "Incorrect string value: '\\xFFb' for column 'c' at row 2 (f, line 2)");
    let format = DelimitedFormat { charset: Charset::Latin1, ..DelimitedFormat::tbl() };
    let got = load(&DelimitedOptions { format, ..options }, b"gr\xFC\xDFe|\n");
    assert_eq!(got.batches[0].column(0).as_string_view().value(0), "grüße");
}

#[test]
fn lengths_count_characters_and_char_loses_its_padding() {
    let char3 = SqlType::Text { kind: TextKind::Char, length: 3, collation: Collation::DEFAULT };
    let columns = vec![column("v", varchar(3), false), column("c", char3, false)];
    let options = DelimitedOptions::all_columns(DelimitedFormat::tbl(), columns, "f");
    let got = load(&options, "éèê|éèê |\nab    |a  |\n".as_bytes());
    assert_eq!(got.result.unwrap().rows, 2);
    // A row with a note begins a batch.
    let of_batches = |i: usize| got.batches.iter().map(move |batch| batch.column(i).as_string_view());
    let texts = |i: usize| of_batches(i).flat_map(|texts| texts.iter().flatten()).collect::<Vec<_>>();
    assert_eq!(texts(0), ["éèê", "ab "]);
    assert_eq!(texts(1), ["éèê", "a"]);
}

#[test]
fn row_and_line_of_an_error_behind_many_chunks() {
    let columns = vec![column("a", SqlType::INT, false), column("b", varchar(200), true)];
    let format = DelimitedFormat { ignore_lines: 2, ..DelimitedFormat::tbl() };
    let mut options = DelimitedOptions::all_columns(format, columns, "big.tbl");
    let mut text = b"header\nheader\n".to_vec();
    for i in 0..60_000 {
        text.extend_from_slice(format!("{i}|{:>50}|\n", "x").as_bytes());
    }
    let rows = load(&options, &text);
    assert_eq!(rows.result.unwrap().rows, 60_000);
    assert!(rows.batches.len() > 2, "several chunks");
    let ids = rows.batches.iter().flat_map(|b| b.column(0).as_primitive::<Int32Type>().values().iter().copied());
    assert!(ids.eq(0..60_000), "in the file's order");
    let good = text.len();
    text.extend_from_slice(b"bad|x|\nworse|x|\n");
    text.extend_from_within(20..good);
    for threads in [1, 3] {
        options.threads = threads;
        let error = load(&options, &text).result.unwrap_err();
        assert_eq!(error.message, "Incorrect integer value: 'bad' for column 'a' at row 60001 (big.tbl, line 60003)");
    }
}

#[test]
fn the_first_wrong_row_counts_whatever_is_wrong() {
    let columns = vec![column("a", SqlType::INT, false), column("b", SqlType::INT, false)];
    let options = DelimitedOptions::all_columns(DelimitedFormat::tbl(), columns, "f");
    let message = |text: &[u8]| load(&options, text).result.unwrap_err().message;
    assert!(message(b"1|1|\n1|x|\ny|1|\n1|\n").starts_with("Incorrect integer value: 'x' for column 'b' at row 2"));
    assert!(message(b"1|1|\n1\nx|1|\n").starts_with("Row 2 doesn't contain data for all columns"));
    assert!(message(b"1|1|2|\nx|1|\n").starts_with("Row 1 was truncated"));
    assert!(message(b"y|x|\n").contains("column 'a'"));
}

#[test]
fn ignore_adjusts_and_warns() {
    let columns = vec![
        column("a", SqlType::Int { width: IntWidth::Tiny, unsigned: false }, false),
        column("b", varchar(2), false),
        column("d", SqlType::Date, true),
    ];
    let mut options = DelimitedOptions::all_columns(DelimitedFormat::default(), columns, "f");
    options.strict = false;
    let got = load(&options, b"300\tabc\t2020-01-01\nx\t\\N\tnever\n\\N\tok\n1\t2\t2020-01-01\t4\n");
    assert_eq!(got.result.unwrap(), DelimitedSummary { rows: 4, warnings: 8 });
    // Warnings do not cut the batch.
    let [batch] = &got.batches[..] else { panic!("{} batches", got.batches.len()) };
    assert_eq!(batch.column(0).as_primitive::<arrow_array::types::Int8Type>().values(), &[127, 0, 0, 1]);
    assert_eq!(batch.column(1).as_string_view().iter().flatten().collect::<Vec<_>>(), ["ab", "", "ok", "2"]);
    assert_eq!((0..4).map(|row| batch.column(2).is_null(row)).collect::<Vec<_>>(), [false, false, true, false]);
    let never = batch.clone();
    let mut numbers: Vec<u16> = got.warnings.iter().map(|w| w.0).collect();
    numbers.sort();
    assert_eq!(numbers, [1261, 1262, 1263, 1263, 1264, 1265, 1265, 1366]);
    // A date that is none is the zero date, whether or not the column takes NULL.
    options.columns[2].nullable = false;
    let got = load(&options, b"1\ta\tnever\n");
    assert_eq!(got.result.unwrap(), DelimitedSummary { rows: 1, warnings: 1 });
    let date = |batch: &RecordBatch, row| batch.column(2).as_primitive::<arrow_array::types::Date32Type>().value(row);
    assert_eq!([date(&never, 1), date(&got.batches[0], 0)], [0, 0]);
}

#[test]
fn column_lists_skip_reorder_and_default() {
    let columns = vec![
        TargetColumn { default: Some(Value::Int(7)), ..column("a", SqlType::INT, false) },
        column("b", SqlType::INT, true),
        TargetColumn { default: Some(Value::Text("dflt and long enough".into())), ..column("c", varchar(20), false) },
        column("d", SqlType::INT, false),
    ];
    let mut options = DelimitedOptions::all_columns(DelimitedFormat::tbl(), columns, "f");
    options.fields = vec![FieldTarget::Column(3), FieldTarget::Skip, FieldTarget::Column(1)];
    let got = load(&options, b"1|garbage|2|\n3||4\n");
    assert_eq!(got.result.unwrap().rows, 2);
    let ints = |i: usize| got.batches[0].column(i).as_primitive::<Int32Type>().values().to_vec();
    assert_eq!((ints(0), ints(1), ints(3)), (vec![7, 7], vec![2, 4], vec![1, 3]));
    assert_eq!(got.batches[0].column(2).as_string_view().value(1), "dflt and long enough");

    options.fields = vec![FieldTarget::Column(0)];
    assert_eq!(load(&options, b"").result.unwrap_err().code.number(), 1364);
    options.fields = vec![FieldTarget::Column(3), FieldTarget::Column(3)];
    assert_eq!(load(&options, b"").result.unwrap_err().code.number(), 1110);
}

#[test]
fn missing_fields_get_defaults_with_ignore() {
    let columns = vec![
        column("a", SqlType::INT, false),
        TargetColumn { default: Some(Value::Int(7)), ..column("b", SqlType::INT, false) },
        TargetColumn { default: Some(Value::Text("dflt and long enough".into())), ..column("c", varchar(20), false) },
    ];
    let mut options = DelimitedOptions::all_columns(DelimitedFormat::tbl(), columns, "f");
    options.strict = false;
    let got = load(&options, b"1\n2|3\n");
    assert_eq!(got.batches[0].column(1).as_primitive::<Int32Type>().values(), &[7, 3]);
    assert_eq!(got.batches[0].column(2).as_string_view().value(0), "dflt and long enough");
    assert_eq!(got.warnings[0], (1261, "Row 1 doesn't contain data for all columns".to_string()));
}

#[test]
fn csv_with_a_header_in_another_order() {
    let columns = vec![column("a", SqlType::INT, false), column("b", varchar(20), true)];
    let text = b"\"B\",a\r\n\"x, \"\"y\"\"\",1\r\n,2\r\n";
    let end = text.iter().position(|b| *b == b'\n').unwrap() + 1;
    let (format, fields) = csv_header(&text[..end], &columns).unwrap();
    assert_eq!(fields, [FieldTarget::Column(1), FieldTarget::Column(0)]);
    let options = DelimitedOptions { fields, ..DelimitedOptions::all_columns(format, columns.clone(), "f.csv") };
    let got = load(&options, text);
    assert_eq!(got.result.unwrap().rows, 2);
    assert_eq!(got.batches[0].column(0).as_primitive::<Int32Type>().values(), &[1, 2]);
    assert_eq!(got.batches[0].column(1).as_string_view().value(0), "x, \"y\"");
    assert!(got.batches[0].column(1).is_null(1));
    assert_eq!(csv_header(b"a,nope\n", &columns).unwrap_err().code.number(), 1054);
}

#[test]
fn the_callers_error_ends_it_and_a_broken_source_is_an_error() {
    let options = DelimitedOptions::all_columns(DelimitedFormat::tbl(), vec![column("c", varchar(90), false)], "f");
    let text = b"some text of a line|\n".repeat(150_000);
    let mut taken = 0;
    let result = read_delimited(&mut &text[..], &options, &mut |_, _, _| (), &mut |_, _| {
        taken += 1;
        if taken == 2 { Err(SqlError::interrupted()) } else { Ok(()) }
    });
    assert_eq!((result.unwrap_err(), taken), (SqlError::interrupted(), 2));

    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("cable cut"))
        }
    }
    let mut source = b"a|\n".chain(Broken);
    let error = read_delimited(&mut source, &options, &mut |_, _, _| (), &mut |_, _| Ok(())).unwrap_err();
    assert!(error.message.contains("cable cut"), "{error}");
}

#[test]
fn warnings_stand_in_front_of_their_rows_and_do_not_cut_batches() {
    let columns = vec![column("i", SqlType::INT, false)];
    let mut options = DelimitedOptions::all_columns(DelimitedFormat::default(), columns, "f.txt");
    options.strict = false;
    let said = std::cell::RefCell::new(Vec::new());
    let mut batches = 0;
    let result = read_delimited(
        &mut &b"1\nx\n3\ny\n5\nz\n"[..],
        &options,
        &mut |_, _, message| said.borrow_mut().push(message),
        &mut |batch, warn_up_to| {
            batches += 1;
            for row in 0..batch.num_rows() - 1 {
                warn_up_to(row);
                said.borrow_mut().push(format!("took {row}"));
            }
            Ok(())
        },
    );
    assert_eq!((result.unwrap().warnings, batches), (3, 1));
    let kind = |text: &String| if text.starts_with("took") { text.clone() } else { "warning".into() };
    let said: Vec<String> = said.borrow().iter().map(kind).collect();
    assert_eq!(said, ["took 0", "warning", "took 1", "took 2", "warning", "took 3", "took 4", "warning"]);
}

#[test]
fn records_larger_than_a_chunk() {
    let text = SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation: Collation::DEFAULT };
    let options = DelimitedOptions::all_columns(
        DelimitedFormat::csv(b"\n"),
        vec![column("a", SqlType::INT, false), column("t", text, false)],
        "f",
    );
    let long = "line\n".repeat(300_000);
    let file = format!("a,t\n1,\"{long}\"\n2,x\n3,\"{long}\"\n");
    let got = load(&options, file.as_bytes());
    assert_eq!(got.result.unwrap().rows, 3);
    let texts: Vec<_> =
        got.batches.iter().flat_map(|b| b.column(1).as_string_view().iter().flatten().map(str::len)).collect();
    assert_eq!(texts, [1_500_000, 1, 1_500_000]);
}

#[test]
fn formats_without_terminators_are_refused() {
    for (fields, lines) in [("", "\n"), (",", "")] {
        let format = DelimitedFormat {
            fields_terminated_by: fields.into(),
            lines_terminated_by: lines.into(),
            ..DelimitedFormat::default()
        };
        let options = DelimitedOptions::all_columns(format, vec![column("a", SqlType::INT, false)], "f");
        assert_eq!(load(&options, b"1\n").result.unwrap_err().code.number(), 1235);
    }
}
