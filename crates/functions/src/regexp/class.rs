//! Character classes: `[..]` with ranges, nested sets, `&&` and `--`, and `\p{..}`.

use super::{
    pattern_error::{illegal_argument, invalid_range, unclosed_bracket},
    translate::{Escape, Translator, push_literal},
};
use muster_types::Result;

/// The set that a name of POSIX means in ICU: of all of Unicode.
fn posix(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "alpha" | "alphabetic" => r"\p{Alphabetic}",
        "digit" => r"\p{Nd}",
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "upper" | "uppercase" => r"\p{Uppercase}",
        "lower" | "lowercase" => r"\p{Lowercase}",
        "space" => r"\p{White_Space}",
        "blank" => r"\t\p{Zs}",
        "punct" => r"\p{P}",
        "cntrl" => r"\p{Cc}",
        "xdigit" => r"\p{Nd}\p{Hex_Digit}",
        "word" => r"\w",
        "graph" => r"[^\p{White_Space}\p{Cc}\p{Cn}]",
        "print" => r"[[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}]",
        "ascii" => r"\x00-\x7F",
        _ => return None,
    })
}

/// The set of a property's name and value, in the syntax of the crate. Error 3685: Unicode has no such property.
fn of_property(name: &str, negated: bool) -> Result<String> {
    if let Some(set) = posix(name.trim()) {
        return Ok(format!("[{}{set}]", if negated { "^" } else { "" }));
    }
    let text = format!(r"\{}{{{}}}", if negated { 'P' } else { 'p' }, name.trim());
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || " _-=.&".contains(c));
    match is_name && regex::Regex::new(&text).is_ok() {
        true => Ok(text),
        false => Err(illegal_argument()),
    }
}

/// Reads the property behind `\p` or `\P`: `{name}`, `{^name}` or `{name=value}`.
pub(super) fn property(translator: &mut Translator, negated: bool) -> Result<String> {
    if !translator.take('{') {
        return Err(illegal_argument());
    }
    let inverted = translator.take('^');
    let mut name = String::new();
    loop {
        match translator.next() {
            Some('}') => return of_property(&name, negated != inverted),
            Some(c) => name.push(c),
            None => return Err(illegal_argument()),
        }
    }
}

/// The left side of an operator within brackets.
#[derive(PartialEq, Clone, Copy)]
enum Operand {
    Nothing,
    /// A character, which a range may begin with.
    Character(char),
    /// A nested set.
    Set,
    /// The end of a range, a class such as `\d`.
    Other,
}

/// A bracket expression whose `[` has been read.
fn brackets(translator: &mut Translator) -> Result<()> {
    translator.out.push('[');
    if translator.take('^') {
        translator.out.push('^');
    }
    let mut before = Operand::Nothing;
    // A bracket that comes first stands for itself.
    if translator.take(']') {
        push_literal(&mut translator.out, ']');
        before = Operand::Character(']');
    }
    loop {
        let Some(c) = translator.next() else { return Err(unclosed_bracket()) };
        before = match c {
            ']' => break,
            '[' => {
                set(translator)?;
                Operand::Set
            }
            '&' | '-' => operator(translator, c, before)?,
            '\\' => escaped(translator)?,
            c if translator.modes.comments && c.is_whitespace() => before,
            c => {
                push_literal(&mut translator.out, c);
                Operand::Character(c)
            }
        };
    }
    translator.out.push(']');
    Ok(())
}

/// `[:name:]`, which need not stand within brackets, or a bracket expression; its `[` has been read.
pub(super) fn set(translator: &mut Translator) -> Result<()> {
    if translator.peek() == Some(':') {
        let rest = &translator.chars[translator.at + 1..];
        if let Some(length) = rest.windows(2).position(|two| two == [':', ']']) {
            let name: String = rest[..length].iter().collect();
            let set = match name.strip_prefix('^') {
                Some(name) => of_property(name, true)?,
                None => of_property(&name, false)?,
            };
            translator.out.push_str(&set);
            translator.at += length + 3;
            return Ok(());
        }
    }
    brackets(translator)
}

/// `&&`, `--`, one of them alone between two sets, or `-` in a range; anything else stands for itself.
fn operator(translator: &mut Translator, c: char, before: Operand) -> Result<Operand> {
    let next = translator.peek();
    if next == Some(c) || before == Operand::Set && next == Some('[') {
        let is_double = translator.take(c);
        if before == Operand::Nothing {
            return Err(if is_double { translator.syntax_here() } else { translator.syntax_next() });
        }
        if translator.peek() == Some(']') {
            return Err(translator.syntax_next());
        }
        translator.out.push_str(if c == '&' { "&&" } else { "--" });
        return Ok(Operand::Nothing);
    }
    let ends = matches!(next, Some(']') | None);
    let Operand::Character(first) = before else {
        push_literal(&mut translator.out, c);
        return Ok(Operand::Other);
    };
    if c == '&' || ends {
        push_literal(&mut translator.out, c);
        return Ok(Operand::Character(c));
    }
    let last = match translator.next() {
        Some('\\') => match translator.escape()? {
            Escape::Literal(last) => last,
            Escape::Assertion(r"\b") => '\x08',
            _ => return Err(translator.syntax_here()),
        },
        Some('[') => return Err(translator.syntax_here()),
        Some(last) => last,
        None => return Err(unclosed_bracket()),
    };
    if last < first {
        return Err(invalid_range());
    }
    translator.out.push('-');
    push_literal(&mut translator.out, last);
    Ok(Operand::Other)
}

fn escaped(translator: &mut Translator) -> Result<Operand> {
    let letter = translator.peek();
    Ok(match translator.escape()? {
        Escape::Class(class) => {
            translator.out.push_str(&class);
            Operand::Other
        }
        Escape::Literal(c) => {
            push_literal(&mut translator.out, c);
            Operand::Character(c)
        }
        Escape::Quote => {
            let mut last = Operand::Other;
            while let Some(c) = translator.next() {
                if c == '\\' && translator.take('E') {
                    break;
                }
                push_literal(&mut translator.out, c);
                last = Operand::Character(c);
            }
            last
        }
        // Other escapes have no meaning here: the letter stands for itself.
        _ => {
            let c = letter.unwrap_or('\\');
            push_literal(&mut translator.out, c);
            Operand::Character(c)
        }
    })
}
