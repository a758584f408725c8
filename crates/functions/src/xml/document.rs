//! A fragment of XML as nodes in the order of the text.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// The whole text, the first node of each document.
    Root,
    Element,
    Attribute,
    /// Characters of an element, or the value of an attribute.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub kind: NodeKind,
    /// The number of the node that this one is in; the root's own is 0.
    pub parent: usize,
    /// Nodes around this one; 0 for the root.
    pub depth: usize,
    /// The name of an element or attribute, the characters of a text.
    pub text: String,
    /// The bytes of the document that the node is.
    pub span: Range<usize>,
}

/// Nodes in the order of the text: attributes in front of the content of their element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub nodes: Vec<Node>,
}

/// Reads a document from the start on.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    nodes: Vec<Node>,
    /// The elements that are open, from the root on.
    open: Vec<usize>,
}

type Parsed<T> = Result<T, String>;

impl Document {
    /// The nodes of a text. Error: what is wrong and where, in MySQL's words.
    pub fn parse(text: &str) -> Result<Document, String> {
        let root = Node { kind: NodeKind::Root, parent: 0, depth: 0, text: String::new(), span: 0..text.len() };
        let mut reader = Reader { text, at: 0, nodes: vec![root], open: vec![0] };
        match reader.content() {
            Ok(()) => Ok(Document { nodes: reader.nodes }),
            Err(what) => Err(reader.error(&what)),
        }
    }

    /// The texts right below the nodes, whose numbers rise.
    pub fn texts<'d>(&'d self, nodes: &'d [usize]) -> impl Iterator<Item = &'d str> {
        let is_below = |node: &&Node| node.kind == NodeKind::Text && nodes.binary_search(&node.parent).is_ok();
        self.nodes.iter().filter(is_below).map(|node| node.text.as_str())
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

fn begins_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b':' || b >= 0x80
}

fn is_name(b: u8) -> bool {
    begins_name(b) || b.is_ascii_digit() || matches!(b, b'-' | b'.')
}

impl Reader<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn error(&self, what: &str) -> String {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let position = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        format!("parse error at line {line} pos {position}: {what}")
    }

    fn add(&mut self, kind: NodeKind, text: String, span: Range<usize>, parent: usize) -> usize {
        let depth = self.nodes[parent].depth + 1;
        self.nodes.push(Node { kind, parent, depth, text, span });
        self.nodes.len() - 1
    }

    fn parent(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    fn content(&mut self) -> Parsed<()> {
        while self.at < self.text.len() {
            let rest = self.rest();
            if rest.starts_with(b"<!--") {
                // A comment without an end reaches to that of the text.
                self.at = self.text[self.at..].find("-->").map_or(self.text.len(), |at| self.at + at + "-->".len());
            } else if rest.starts_with(b"<![CDATA[") {
                let start = self.at + "<![CDATA[".len();
                self.skip_past("]]>")?;
                let end = self.at - "]]>".len();
                let text = self.text[start..end].to_string();
                self.add(NodeKind::Text, text, start..end, self.parent());
            } else if rest.starts_with(b"</") {
                self.close()?;
            } else if rest[0] == b'<' {
                self.tag()?;
            } else {
                let end = self.at + rest.iter().position(|b| *b == b'<').unwrap_or(rest.len());
                let (start, text) = (self.at, self.text[self.at..end].to_string());
                self.at = end;
                self.add(NodeKind::Text, text, start..end, self.parent());
            }
        }
        match self.open.len() {
            1 => Ok(()),
            _ => {
                let name = &self.nodes[self.parent()].text;
                Err(format!("unexpected END-OF-INPUT ('</{name}>' wanted)"))
            }
        }
    }

    /// Moves behind the next `end`.
    fn skip_past(&mut self, end: &str) -> Parsed<()> {
        match self.text[self.at..].find(end) {
            Some(found) => {
                self.at += found + end.len();
                Ok(())
            }
            None => {
                self.at = self.text.len();
                Err("unexpected END-OF-INPUT".into())
            }
        }
    }

    fn skip_space(&mut self) {
        self.at += self.rest().iter().take_while(|b| is_space(**b)).count();
    }

    /// The next piece of the document, as errors name it.
    fn found(&self) -> String {
        match self.rest().first() {
            None => "END-OF-INPUT".into(),
            Some(b) if begins_name(*b) => "IDENT".into(),
            Some(b'"' | b'\'') => "STRING".into(),
            Some(b) => format!("'{}'", char::from(*b)),
        }
    }

    fn expect(&mut self, wanted: u8) -> Parsed<()> {
        self.skip_space();
        if self.rest().first() == Some(&wanted) {
            self.at += 1;
            return Ok(());
        }
        Err(format!("{} unexpected ('{}' wanted)", self.found(), char::from(wanted)))
    }

    fn name(&mut self) -> Option<String> {
        let rest = self.rest();
        rest.first().filter(|b| begins_name(**b))?;
        let length = rest.iter().take_while(|b| is_name(**b)).count();
        let name = self.text[self.at..self.at + length].to_string();
        self.at += length;
        Some(name)
    }

    /// `</name>`: as in MySQL, any name ends the element.
    fn close(&mut self) -> Parsed<()> {
        self.at += "</".len();
        self.skip_space();
        let Some(name) = self.name() else { return Err(format!("{} unexpected (IDENT wanted)", self.found())) };
        self.expect(b'>')?;
        let open = self.parent();
        if open == 0 {
            return Err(format!("'</{name}>' unexpected (END-OF-INPUT wanted)"));
        }
        self.nodes[open].span.end = self.at;
        self.open.pop();
        Ok(())
    }

    /// `<name a="b">`, `<name/>`, `<?name .. ?>`, `<!name ..>`.
    fn tag(&mut self) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        let ends = match self.rest().first() {
            Some(b'?') => Some("?>"),
            Some(b'!') => Some(">"),
            _ => None,
        };
        if let Some(end) = ends {
            return self.skip_past(end);
        }
        self.skip_space();
        let Some(name) = self.name() else { return Err(format!("{} unexpected (IDENT or '/' wanted)", self.found())) };
        let element = self.add(NodeKind::Element, name, start..start, self.parent());
        self.open.push(element);
        self.attributes(element)?;
        if self.rest().first() == Some(&b'/') {
            self.at += 1;
            self.expect(b'>')?;
            self.nodes[element].span.end = self.at;
            self.open.pop();
            return Ok(());
        }
        self.expect(b'>')
    }

    fn attributes(&mut self, element: usize) -> Parsed<()> {
        loop {
            self.skip_space();
            let start = self.at;
            let Some(name) = self.name() else { return Ok(()) };
            let attribute = self.add(NodeKind::Attribute, name, start..self.at, element);
            self.skip_space();
            if self.rest().first() != Some(&b'=') {
                continue;
            }
            self.at += 1;
            self.skip_space();
            let value = self.attribute_value()?;
            let text = self.text[value.clone()].to_string();
            self.nodes[attribute].span.end = self.at;
            self.add(NodeKind::Text, text, value, attribute);
        }
    }

    /// The bytes of a value in quotes, or of a name.
    fn attribute_value(&mut self) -> Parsed<Range<usize>> {
        match self.rest().first() {
            Some(quote @ (b'"' | b'\'')) => {
                let start = self.at + 1;
                match self.text.as_bytes()[start..].iter().position(|b| b == quote) {
                    Some(length) => {
                        self.at = start + length + 1;
                        Ok(start..start + length)
                    }
                    None => {
                        self.at = self.text.len();
                        Err("unexpected END-OF-INPUT".into())
                    }
                }
            }
            _ => {
                let start = self.at;
                match self.name() {
                    Some(_) => Ok(start..self.at),
                    None => Err(format!("{} unexpected (IDENT or STRING wanted)", self.found())),
                }
            }
        }
    }
}
