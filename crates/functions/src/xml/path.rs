//! The syntax of the part of XPath 1.0 that MySQL has (manual 14.11 "XPath Limitations"). Error 1105 names the text
//! that is not understood.

use muster_types::{ErrorCode, Result, SqlError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Itself,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub axis: Axis,
    /// The name of elements or attributes; `None` for all.
    pub name: Option<String>,
    pub predicates: Vec<Path>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Div,
    Mod,
    Union,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Path {
    Number(f64),
    Text(String),
    Negative(Box<Path>),
    Binary(Operator, Box<Path>, Box<Path>),
    Call(&'static str, Vec<Path>),
    /// Steps from the root, from the nodes of an expression, or from the node that is looked at.
    Steps {
        from: Start,
        steps: Vec<Step>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    Root,
    Here,
    Nodes(Box<Path>),
}

/// Functions with the least and the largest number of their arguments.
const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("boolean", 1, 1),
    ("ceiling", 1, 1),
    ("concat", 2, usize::MAX),
    ("contains", 2, 2),
    ("count", 1, 1),
    ("false", 0, 0),
    ("floor", 1, 1),
    ("last", 0, 0),
    ("not", 1, 1),
    ("number", 1, 1),
    ("position", 0, 0),
    ("round", 1, 1),
    ("string-length", 1, 1),
    ("substring", 2, 3),
    ("sum", 1, 1),
    ("true", 0, 0),
];

/// Most expressions that are open at a time.
const DEPTH_MAX: usize = 200;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Predicates that are open.
    predicates: usize,
}

/// The expression that a whole text is.
pub fn parse(text: &str) -> Result<Path> {
    let mut parser = Parser { text, at: 0, depth: 0, predicates: 0 };
    let path = parser.expression()?;
    parser.skip_space();
    match parser.at == text.len() {
        true => Ok(path),
        false => Err(parser.error()),
    }
}

fn begins_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

fn is_name(b: u8) -> bool {
    begins_name(b) || b.is_ascii_digit() || matches!(b, b'-' | b'.')
}

impl<'a> Parser<'a> {
    fn error(&self) -> SqlError {
        /// Characters of the text that the error shows.
        const SHOWN: usize = 32;
        let rest: String = self.text[self.at..].chars().take(SHOWN).collect();
        SqlError::new(ErrorCode::Unknown, format!("XPATH syntax error: '{rest}'"))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Takes a sign if it comes.
    fn takes(&mut self, sign: &str) -> bool {
        self.skip_space();
        let comes = self.rest().starts_with(sign);
        if comes {
            self.at += sign.len();
        }
        comes
    }

    /// Takes a word if it comes and no letter follows.
    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let comes = self.rest().starts_with(word) && !is_name(self.byte(word.len()));
        if comes {
            self.at += word.len();
        }
        comes
    }

    fn binary(
        &mut self,
        operand: fn(&mut Self) -> Result<Path>,
        operator: fn(&mut Self) -> Option<Operator>,
    ) -> Result<Path> {
        let mut left = operand(self)?;
        while let Some(operator) = operator(self) {
            left = Path::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn expression(&mut self) -> Result<Path> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error());
        }
        let path = self.binary(Self::conjunction, |p| p.takes_word("or").then_some(Operator::Or));
        self.depth -= 1;
        path
    }

    fn conjunction(&mut self) -> Result<Path> {
        self.binary(Self::equality, |p| p.takes_word("and").then_some(Operator::And))
    }

    fn equality(&mut self) -> Result<Path> {
        self.binary(Self::relation, |p| match () {
            () if p.takes("!=") => Some(Operator::NotEqual),
            () if p.takes("=") => Some(Operator::Equal),
            () => None,
        })
    }

    fn relation(&mut self) -> Result<Path> {
        self.binary(Self::sum, |p| match () {
            () if p.takes("<=") => Some(Operator::LessOrEqual),
            () if p.takes(">=") => Some(Operator::GreaterOrEqual),
            () if p.takes("<") => Some(Operator::Less),
            () if p.takes(">") => Some(Operator::Greater),
            () => None,
        })
    }

    fn sum(&mut self) -> Result<Path> {
        self.binary(Self::product, |p| match () {
            () if p.takes("+") => Some(Operator::Plus),
            () if p.takes("-") => Some(Operator::Minus),
            () => None,
        })
    }

    fn product(&mut self) -> Result<Path> {
        self.binary(Self::negative, |p| match () {
            () if p.takes("*") => Some(Operator::Times),
            () if p.takes_word("div") => Some(Operator::Div),
            () if p.takes_word("mod") => Some(Operator::Mod),
            () => None,
        })
    }

    fn negative(&mut self) -> Result<Path> {
        if !self.takes("-") {
            return self.binary(Self::path, |p| p.takes("|").then_some(Operator::Union));
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error());
        }
        let operand = self.negative();
        self.depth -= 1;
        Ok(Path::Negative(Box::new(operand?)))
    }

    fn path(&mut self) -> Result<Path> {
        self.skip_space();
        if self.byte(0) == b'/' {
            let mut steps = Vec::new();
            match self.byte(1) {
                b'/' => {
                    self.at += 2;
                    steps.push(anywhere());
                    self.steps(&mut steps)?;
                }
                _ => {
                    self.at += 1;
                    self.skip_space();
                    if self.begins_step() {
                        self.steps(&mut steps)?;
                    }
                }
            }
            return Ok(Path::Steps { from: Start::Root, steps });
        }
        match self.primary()? {
            None => {
                let mut steps = Vec::new();
                self.steps(&mut steps)?;
                Ok(Path::Steps { from: Start::Here, steps })
            }
            Some(primary) => self.steps_behind(primary),
        }
    }

    /// Steps behind an expression.
    fn steps_behind(&mut self, primary: Path) -> Result<Path> {
        self.skip_space();
        if self.byte(0) != b'/' {
            return Ok(primary);
        }
        let mut steps = Vec::new();
        self.at += 1;
        if self.byte(0) == b'/' {
            self.at += 1;
            steps.push(anywhere());
        }
        self.steps(&mut steps)?;
        Ok(Path::Steps { from: Start::Nodes(Box::new(primary)), steps })
    }

    fn begins_step(&self) -> bool {
        begins_name(self.byte(0)) || matches!(self.byte(0), b'*' | b'@' | b'.')
    }

    fn steps(&mut self, steps: &mut Vec<Step>) -> Result<()> {
        loop {
            self.step(steps)?;
            self.skip_space();
            if self.byte(0) != b'/' {
                return Ok(());
            }
            self.at += 1;
            if self.byte(0) == b'/' {
                self.at += 1;
                steps.push(anywhere());
            }
        }
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> Result<()> {
        let (axis, name) = match () {
            () if self.takes("..") => (Axis::Parent, None),
            () if self.takes(".") => (Axis::Itself, None),
            () if self.takes("@") => (Axis::Attribute, self.node_test()?),
            () => match self.axis()? {
                Some(axis) => (axis, self.node_test()?),
                // Whatever is asked for, the node is shown as the texts right below it.
                None if self.takes_kind_test() => (Axis::Itself, None),
                None => (Axis::Child, self.node_test()?),
            },
        };
        steps.push(Step { axis, name, predicates: self.predicates()? });
        Ok(())
    }

    /// `name::`.
    fn axis(&mut self) -> Result<Option<Axis>> {
        self.skip_space();
        let length = self.rest().bytes().take_while(|b| is_name(*b)).count();
        let (word, behind) = self.rest().split_at(length);
        if !behind.starts_with("::") {
            return Ok(None);
        }
        let axis = match word {
            "ancestor" => Axis::Ancestor,
            "ancestor-or-self" => Axis::AncestorOrSelf,
            "attribute" => Axis::Attribute,
            // MySQL knows the names of some more, and takes the children.
            "child" | "following" | "following-sibling" | "namespace" | "preceding" | "preceding-sibling" => {
                Axis::Child
            }
            "descendant" => Axis::Descendant,
            "descendant-or-self" => Axis::DescendantOrSelf,
            "parent" => Axis::Parent,
            "self" => Axis::Itself,
            _ => return Err(self.error()),
        };
        self.at += length + "::".len();
        Ok(Some(axis))
    }

    fn takes_kind_test(&mut self) -> bool {
        let start = self.at;
        let is_kind = ["text", "node", "comment"].iter().any(|kind| self.takes_word(kind));
        let comes = is_kind && self.takes("(") && self.takes(")");
        if !comes {
            self.at = start;
        }
        comes
    }

    /// A name, which may have a prefix, or `*`.
    fn node_test(&mut self) -> Result<Option<String>> {
        if self.takes("*") {
            return Ok(None);
        }
        let start = self.at;
        if !begins_name(self.byte(0)) {
            return Err(self.error());
        }
        self.at += self.rest().bytes().take_while(|b| is_name(*b)).count();
        if self.byte(0) == b':' && begins_name(self.byte(1)) {
            self.at += 1;
            self.at += self.rest().bytes().take_while(|b| is_name(*b)).count();
        }
        Ok(Some(self.text[start..self.at].to_string()))
    }

    fn predicates(&mut self) -> Result<Vec<Path>> {
        let mut predicates = Vec::new();
        while self.takes("[") {
            self.predicates += 1;
            predicates.push(self.expression()?);
            self.predicates -= 1;
            if !self.takes("]") {
                return Err(self.error());
            }
        }
        Ok(predicates)
    }

    /// A number, a text, a call, or an expression in parentheses; `None` for a path.
    fn primary(&mut self) -> Result<Option<Path>> {
        match self.byte(0) {
            quote @ (b'"' | b'\'') => {
                let Some(length) = self.text.as_bytes()[self.at + 1..].iter().position(|b| *b == quote) else {
                    return Err(self.error());
                };
                let text = self.text[self.at + 1..self.at + 1 + length].to_string();
                self.at += length + 2;
                Ok(Some(Path::Text(text)))
            }
            b'0'..=b'9' => Ok(Some(self.number())),
            b'.' if self.byte(1).is_ascii_digit() => Ok(Some(self.number())),
            b'(' => {
                self.at += 1;
                let inner = self.expression()?;
                if !self.takes(")") {
                    return Err(self.error());
                }
                Ok(Some(inner))
            }
            _ => self.call(),
        }
    }

    fn number(&mut self) -> Path {
        let whole = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let mut length = whole;
        if self.byte(whole) == b'.' {
            length += 1 + self.rest().bytes().skip(whole + 1).take_while(u8::is_ascii_digit).count();
        }
        let value = self.rest()[..length].parse().unwrap_or(f64::MAX);
        self.at += length;
        Path::Number(value)
    }

    fn call(&mut self) -> Result<Option<Path>> {
        let length = self.rest().bytes().take_while(|b| is_name(*b)).count();
        let (word, behind) = self.rest().split_at(length);
        let opens = behind.trim_start_matches(' ').starts_with('(');
        if length == 0 || !opens || matches!(word, "text" | "node" | "comment" | "processing-instruction") {
            return Ok(None);
        }
        let Some((name, least, most)) = FUNCTIONS.iter().find(|(name, ..)| *name == word) else {
            return Err(self.error());
        };
        self.at += length;
        self.takes("(");
        let mut args = Vec::new();
        if !self.takes(")") {
            loop {
                args.push(self.expression()?);
                if self.takes(")") {
                    break;
                }
                if !self.takes(",") {
                    return Err(self.error());
                }
            }
        }
        let is_misplaced = matches!(*name, "last" | "position") && self.predicates == 0;
        match (*least..=*most).contains(&args.len()) && !is_misplaced {
            true => Ok(Some(Path::Call(name, args))),
            false => Err(self.error()),
        }
    }
}

/// The step that `//` stands for.
fn anywhere() -> Step {
    Step { axis: Axis::DescendantOrSelf, name: None, predicates: Vec::new() }
}
