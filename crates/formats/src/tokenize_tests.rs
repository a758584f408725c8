use super::*;

/// Fields of all rows: text, "NULL" marks as `<null>`, missing ones as `<missing>`.
fn rows(format: &DelimitedFormat, text: &[u8], stride: usize) -> (Vec<Vec<String>>, Problems) {
    let mut problems = Problems::new(false);
    let rows = tokenize(format, text, stride, &mut problems);
    let bytes = rows.unescaped.as_deref().unwrap_or(text);
    let show = |span: &Span| match *span {
        Span::NULL => "<null>".to_string(),
        Span::MISSING => "<missing>".to_string(),
        span => String::from_utf8_lossy(span.bytes(bytes)).into_owned(),
    };
    assert_eq!(rows.spans.len(), rows.starts.len() * stride);
    (rows.spans.chunks(stride).map(|row| row.iter().map(show).collect()).collect(), problems)
}

fn kinds(problems: &Problems) -> Vec<(usize, ProblemKind)> {
    problems.warnings.iter().map(|p| (p.row, p.kind)).collect()
}

/// Any format, through the general way only.
fn general_rows(format: &DelimitedFormat, text: &[u8], stride: usize) -> (Vec<Vec<String>>, Problems) {
    let mut problems = Problems::new(false);
    let rows = general(format, text, stride, &mut problems);
    let bytes = rows.unescaped.expect("the general way copies");
    let show = |span: &Span| match *span {
        Span::NULL => "<null>".to_string(),
        Span::MISSING => "<missing>".to_string(),
        span => String::from_utf8_lossy(span.bytes(&bytes)).into_owned(),
    };
    (rows.spans.chunks(stride).map(|row| row.iter().map(show).collect()).collect(), problems)
}

fn mysql(fields: &str, quote: Option<u8>, lines: &str) -> DelimitedFormat {
    DelimitedFormat {
        fields_terminated_by: fields.into(),
        fields_enclosed_by: quote,
        lines_terminated_by: lines.into(),
        ..DelimitedFormat::default()
    }
}

#[test]
fn tbl_lines_end_with_a_separator() {
    for read in [rows, general_rows] {
        let (got, problems) = read(&DelimitedFormat::tbl(), b"1|a|\n2||\n3|c\n|d|\n5|e|", 2);
        assert_eq!(got, [["1", "a"], ["2", ""], ["3", "c"], ["", "d"], ["5", "e"]]);
        assert_eq!(problems.warning_count, 0);
    }
}

#[test]
fn too_few_and_too_many_fields() {
    use ProblemKind::{TooFewFields, TooManyFields};
    for read in [rows, general_rows] {
        let (got, problems) = read(&DelimitedFormat::tbl(), b"1\n1|2|3\n\n1|2||\n1|2|\r\n1|2|3|\n1|2|3", 2);
        let missing = "<missing>";
        let want = [["1", missing], ["1", "2"], ["", missing], ["1", "2"], ["1", "2"], ["1", "2"], ["1", "2"]];
        assert_eq!(got, want);
        let mut got = kinds(&problems);
        got.sort_by_key(|k| k.0);
        let many = |row| (row, TooManyFields);
        assert_eq!(got, [(0, TooFewFields), many(1), (2, TooFewFields), many(3), many(4), many(5), many(6)]);
    }
}

#[test]
fn an_empty_line_is_an_empty_value_of_one_column() {
    for read in [rows, general_rows] {
        let (got, problems) = read(&DelimitedFormat::tbl(), b"\na\n", 1);
        assert_eq!(got, [[""], ["a"]]);
        assert_eq!(problems.warning_count, 0);
        assert!(read(&DelimitedFormat::tbl(), b"", 1).0.is_empty());
    }
}

#[test]
fn escapes() {
    let (got, _) =
        rows(&DelimitedFormat::default(), b"\\N\t\\\\N\tx\\N\nN\ta\\tb\tc\\\nd\n\\0\\b\\n\\r\\Z\\q\t\t\\", 3);
    let want = [
        ["<null>", "\\N", "xN"].map(String::from),
        ["N", "a\tb", "c\nd"].map(String::from),
        ["\0\u{8}\n\r\u{1a}q", "", "\\"].map(String::from),
    ];
    assert_eq!(got, want);
    // Without an escape character a backslash is a backslash.
    let format = DelimitedFormat { fields_escaped_by: None, ..DelimitedFormat::default() };
    assert_eq!(rows(&format, b"\\N\tb\\\n", 2).0, [["\\N", "b\\"]]);
}

#[test]
fn quotes() {
    let format = mysql(",", Some(b'"'), "\r\n");
    let text = b"\"a,\"\"b\"\"\r\nc\",NULL,\"NULL\"\r\n\"x\"y\",\"p\\\"q\",\" \"\r\nplain\"quote\",\\N,\"\\N\"";
    let (got, problems) = rows(&format, text, 3);
    let want = [
        ["a,\"b\"\r\nc", "<null>", "NULL"],
        // A quote inside that no terminator follows is a plain character.
        ["x\"y", "p\"q", " "],
        ["plain\"quote\"", "<null>", "<null>"],
    ];
    assert_eq!(got, want);
    assert_eq!(problems.warning_count, 0);
    // Never closed: the rest of the file.
    assert_eq!(rows(&format, b"a,\"b,c\r\nd", 2).0, [["a", "b,c\r\nd"]]);
}

#[test]
fn the_quote_as_escape_character() {
    let format = DelimitedFormat { fields_escaped_by: Some(b'"'), ..mysql(",", Some(b'"'), "\n") };
    assert_eq!(rows(&format, b"\"a\"\"b\",\"c\"\n", 2).0, [["a\"b", "c"]]);
}

#[test]
fn terminators_of_several_bytes_that_overlap() {
    let format = mysql("||", None, "|\n");
    let (got, _) = rows(&format, b"a|b||c|\n||d|\n", 2);
    assert_eq!(got, [["a|b", "c"], ["", "d"]]);
    let format = mysql("<>", None, "<<\n");
    assert_eq!(rows(&format, b"a<b<>c<<\n<>", 2).0, [["a<b", "c"], ["", ""]]);
}

#[test]
fn line_prefixes() {
    let format = DelimitedFormat { lines_starting_by: b"xxx".to_vec(), ..mysql(",", None, "\n") };
    // Manual 15.2.9: "something xxx"def",2" is read behind the prefix, a line without it is skipped.
    let (got, problems) = rows(&format, b"xxxabc,1\nsomething xxxdef,2\nghi,3\n", 2);
    assert_eq!(got, [["abc", "1"], ["def", "2"]]);
    assert_eq!(problems.warning_count, 0);
}

#[test]
fn csv_empty_is_null_unless_quoted() {
    let (got, _) = rows(&DelimitedFormat::csv(b"\n"), b"1,,\"\"\n,\"a\"\"b\",c\n", 3);
    assert_eq!(got, [["1", "<null>", ""], ["<null>", "a\"b", "c"]]);
}

/// However the bytes are cut, the chunks' rows are those of the whole.
#[test]
fn any_cut_gives_the_same_records() {
    let quoted = mysql(",", Some(b'"'), "\r\n");
    let cases: [(DelimitedFormat, &[u8]); 5] = [
        (quoted.clone(), b"\"a,\"\"b\"\"\r\nc\",NULL\r\n\"x\"y\",\"p\\\"q\"\r\np\"q\",\\N\r\n\"a\\\r\n\",\"\"\r\n"),
        (DelimitedFormat::default(), b"a\tb\\\nc\n\\\\\nd\\\\\\\n\te\n\n"),
        (mysql("||", None, "|\n"), b"a|b||c|\n||d|\n|||\n"),
        (DelimitedFormat { fields_escaped_by: Some(b'"'), ..quoted }, b"\"a\"\"\r\nb\",\"c\"\r\nd,e\r\n"),
        (
            DelimitedFormat { lines_starting_by: b"xy".into(), ..mysql(",", Some(b'\''), "\n") },
            b"xyxy,'\nxy'\nz\n zxya,b\n",
        ),
    ];
    for (format, text) in cases {
        let (want, _) = rows(&format, text, 2);
        for step in 1..text.len() + 1 {
            let (mut got, mut bytes, mut scanned) = (Vec::new(), Vec::new(), 0);
            for part in text.chunks(step) {
                bytes.extend_from_slice(part);
                let whole = whole_records(&format, &bytes, &mut scanned);
                if whole > 0 {
                    got.extend(rows(&format, &bytes[..whole], 2).0);
                    bytes.drain(..whole);
                    scanned = 0;
                }
            }
            got.extend(rows(&format, &bytes, 2).0);
            assert_eq!(got, want, "step {step} of {:?}", String::from_utf8_lossy(text));
        }
    }
}
