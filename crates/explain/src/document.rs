//! JSON whose members stay in the order in which they were added, printed as MySQL prints it.

use std::fmt::Write;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    Object(Vec<(String, Document)>),
    Array(Vec<Document>),
    Text(String),
    Number(f64),
    Bool(bool),
    Null,
}

impl Document {
    /// An object without members.
    pub fn object() -> Document {
        Document::Object(Vec::new())
    }

    /// Adds a member at the end of an object.
    pub fn add(&mut self, name: &str, value: impl Into<Document>) {
        if let Document::Object(members) = self {
            members.push((name.to_string(), value.into()));
        }
    }

    /// Adds an array of texts, unless there are none.
    pub fn add_texts(&mut self, name: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.add(name, Document::Array(texts.iter().map(|text| text.as_str().into()).collect()));
        }
    }

    /// The text with two spaces for each level, as MySQL has it.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    /// The text in one line, as MySQL's `one_line` has it.
    pub fn one_line(&self) -> String {
        let mut out = String::new();
        self.write_in_line(&mut out);
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        let (open, close, count) = match self {
            Document::Object(members) => ('{', '}', members.len()),
            Document::Array(items) => ('[', ']', items.len()),
            scalar => return scalar.write_in_line(out),
        };
        out.push(open);
        let separate = |i: usize, out: &mut String| {
            let _ = write!(out, "\n{:width$}", "", width = (depth + 1) * 2);
            debug_assert!(i < count);
        };
        match self {
            Document::Object(members) => {
                for (i, (name, value)) in members.iter().enumerate() {
                    separate(i, out);
                    let _ = write!(out, "{}: ", quoted(name));
                    value.write(depth + 1, out);
                    out.push_str(if i + 1 < count { "," } else { "" });
                }
            }
            Document::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    separate(i, out);
                    item.write(depth + 1, out);
                    out.push_str(if i + 1 < count { "," } else { "" });
                }
            }
            _ => {}
        }
        if count > 0 {
            let _ = write!(out, "\n{:width$}", "", width = depth * 2);
        }
        out.push(close);
    }

    fn write_in_line(&self, out: &mut String) {
        match self {
            Document::Object(members) => {
                out.push('{');
                for (i, (name, value)) in members.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    let _ = write!(out, "{comma}{}: ", quoted(name));
                    value.write_in_line(out);
                }
                out.push('}');
            }
            Document::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    item.write_in_line(out);
                }
                out.push(']');
            }
            Document::Text(text) => out.push_str(&quoted(text)),
            // JSON has no other numbers.
            Document::Number(number) if !number.is_finite() => out.push_str("null"),
            Document::Number(number) => {
                let _ = write!(out, "{number}");
            }
            Document::Bool(value) => {
                let _ = write!(out, "{value}");
            }
            Document::Null => out.push_str("null"),
        }
    }
}

/// A text with its quotation marks.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl From<&str> for Document {
    fn from(text: &str) -> Document {
        Document::Text(text.to_string())
    }
}

impl From<String> for Document {
    fn from(text: String) -> Document {
        Document::Text(text)
    }
}

impl From<f64> for Document {
    fn from(number: f64) -> Document {
        Document::Number(number)
    }
}

impl From<u32> for Document {
    fn from(number: u32) -> Document {
        Document::Number(number.into())
    }
}

impl From<u64> for Document {
    fn from(number: u64) -> Document {
        Document::Number(number as f64)
    }
}

impl From<usize> for Document {
    fn from(number: usize) -> Document {
        Document::Number(number as f64)
    }
}

impl From<bool> for Document {
    fn from(value: bool) -> Document {
        Document::Bool(value)
    }
}

impl From<Vec<Document>> for Document {
    fn from(items: Vec<Document>) -> Document {
        Document::Array(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order() {
        let mut inner = Document::object();
        inner.add("z", 1.5);
        inner.add("a", vec![Document::Bool(true), "x\"y".into()]);
        let mut outer = Document::object();
        outer.add("q", inner);
        outer.add("empty", Vec::new());
        outer.add("none", Document::object());
        let want = "{\n  \"q\": {\n    \"z\": 1.5,\n    \"a\": [\n      true,\n      \"x\\\"y\"\n    ]\n  },\n  \
                    \"empty\": [],\n  \"none\": {}\n}";
        assert_eq!(outer.pretty(), want);
        assert_eq!(outer.one_line(), "{\"q\": {\"z\": 1.5,\"a\": [true,\"x\\\"y\"]},\"empty\": [],\"none\": {}}");
        let parsed: serde_json::Value = serde_json::from_str(&outer.pretty()).expect("JSON");
        assert_eq!(parsed["q"]["z"], 1.5);
    }
}
