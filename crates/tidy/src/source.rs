//! Rust source as far as the rules need it: code without comments and texts, and where functions begin and end.

/// A function with a body, by lines counted from 1.
pub struct Function<'a> {
    pub name: &'a str,
    pub first: usize,
    pub last: usize,
}

impl Function<'_> {
    pub fn lines(&self) -> usize {
        self.last - self.first + 1
    }
}

/// The functions of a file that rustfmt has formatted: the line that closes one is the first that is indented as the
/// line that opens it and begins with a brace.
pub fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(name) = declared(line, &["fn"]) else { continue };
        if line.ends_with(['}', ';']) {
            if line.ends_with('}') {
                found.push(Function { name, first: i + 1, last: i + 1 });
            }
            continue;
        }
        let indent = indentation(line);
        let same = |line: &&&str| !line.trim().is_empty() && indentation(line) == indent;
        // A line that ends the head of a long signature is indented alike; a semicolon there ends a declaration without
        // a body.
        for (j, end) in lines.iter().enumerate().skip(i + 1).filter(|(_, line)| same(line)) {
            if end.trim_start().starts_with('}') {
                found.push(Function { name, first: i + 1, last: j + 1 });
                break;
            }
            if end.ends_with(';') {
                break;
            }
        }
    }
    found
}

/// The name that a line declares with one of the keywords (`fn`, `struct`, ...), whatever qualifiers stand before.
pub fn declared<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let mut rest = line.trim_start();
    loop {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if keywords.contains(&word) {
            let name = after.trim_start();
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
            // `const fn`, `static mut`: the name comes later.
            if matches!(&name[..end], "fn" | "unsafe" | "async" | "mut" | "extern") {
                rest = name;
                continue;
            }
            return (end > 0 && after.starts_with(' ')).then(|| &name[..end]);
        }
        rest = match word {
            "pub" => after.trim_start().strip_prefix('(').map_or(after, |r| r.split_once(')').map_or("", |(_, r)| r)),
            "default" | "const" | "async" | "unsafe" | "static" | "mut" => after,
            "extern" => after.trim_start().trim_start_matches("\"C\""),
            _ => return None,
        }
        .trim_start();
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The text of a file with comments, string and character literals blanked out. Lines stay where they are.
pub fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = comment(rest).or_else(|| if c == 'r' { raw_string(rest, &out) } else { literal(rest) });
        let length = skipped.unwrap_or(0);
        if length == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    out
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    rest.starts_with("/*").then(|| rest.find("*/").map_or(rest.len(), |end| end + 2))
}

/// The length of a raw string at the beginning of `rest`. An `r` that ends an identifier begins none.
fn raw_string(rest: &str, before: &str) -> Option<usize> {
    if before.ends_with(|c: char| (c.is_alphanumeric() && c != 'b') || c == '_') {
        return None;
    }
    let hashes = rest[1..].bytes().take_while(|&b| b == b'#').count();
    let body = rest[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&close).map_or(rest.len(), |end| 2 + hashes + end + close.len()))
}

/// The length of a string or character literal at the beginning of `rest`. A lifetime is none.
fn literal(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    if quote == '\'' {
        let mut chars = rest[1..].chars();
        let (first, second) = (chars.next()?, chars.next()?);
        if first != '\\' && second != '\'' {
            return None;
        }
    }
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_lengths() {
        let text = "fn one() {}\n\npub(crate) async fn two(\n    a: u8,\n) -> u8 {\n    a\n}\ntrait T {\n    fn none(\n        a: u8,\n    ) -> u8;\n    unsafe fn three() {\n        x();\n    }\n}\n";
        let found: Vec<_> = functions(text).iter().map(|f| (f.name, f.first, f.lines())).collect();
        assert_eq!(found, [("one", 1, 1), ("two", 3, 5), ("three", 12, 3)]);
    }

    #[test]
    fn comments_and_texts_are_no_code() {
        assert_eq!(code("a // b\nc /* d\n */ e"), "a     \nc     \n    e");
        assert_eq!(code("f(\"x\\\"y\", 'z', &'a u8)"), "f(      ,    , &'a u8)");
        assert_eq!(code("let s = r#\"a\"b\"# ;"), "let s =          ;");
        assert_eq!(code("for_r\"x\""), "for_r   ");
    }

    #[test]
    fn declarations_have_names() {
        assert_eq!(declared("    pub(crate) const fn f(", &["fn"]), Some("f"));
        assert_eq!(declared("pub struct S<T> {", &["struct"]), Some("S"));
        assert_eq!(declared("pub const unsafe fn f() {}", &["const", "fn"]), Some("f"));
        assert_eq!(declared("let f = fn_of(x);", &["fn"]), None);
    }
}
