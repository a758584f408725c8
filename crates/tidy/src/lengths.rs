//! How long a file and a function may be, and how wide a comment. What is longer holds more than one idea.

use crate::{Checkout, Finding, long_functions::LONG_FUNCTIONS, source::functions};

/// The most lines of a file.
pub const FILE_LINES: usize = 600;
/// The most lines of a function, from its signature to its closing brace.
pub const FUNCTION_LINES: usize = 70;
/// The most columns of a line of a comment.
pub const COMMENT_COLUMNS: usize = 120;

pub fn faults(checkout: &Checkout) -> Vec<Finding> {
    let mut faults = Vec::new();
    for (path, text) in checkout.rust() {
        let lines = text.lines().count();
        if lines > FILE_LINES {
            faults.push(Finding::new(path, lines, format!("the file has {lines} lines, more than {FILE_LINES}")));
        }
        for function in functions(text).iter() {
            let known = LONG_FUNCTIONS.iter().find(|(file, name, _)| *file == path && *name == function.name);
            let most = known.map_or(FUNCTION_LINES, |(_, _, lines)| *lines);
            if function.lines() > most {
                let what = format!("`{}` has {} lines, more than {most}", function.name, function.lines());
                faults.push(Finding::new(path, function.first, what));
            }
        }
    }
    faults
}

/// Exceptions that are none any more: the list may only shrink.
pub fn needless_exceptions(checkout: &Checkout) -> Vec<Finding> {
    let mut faults = Vec::new();
    for (path, name, most) in LONG_FUNCTIONS {
        let text = checkout.text(path).unwrap_or_default();
        let longest = functions(text).iter().filter(|f| f.name == *name).map(|f| f.lines()).max().unwrap_or(0);
        if longest < *most || longest <= FUNCTION_LINES {
            let what = format!("`{name}` has {longest} lines, and {most} stand in the list of long functions");
            faults.push(Finding::new(path, 1, what));
        }
    }
    faults
}

/// Lines of comments that are wider than [`COMMENT_COLUMNS`].
pub fn comment_faults(checkout: &Checkout) -> Vec<Finding> {
    let mut faults = Vec::new();
    for (path, text) in checkout.rust() {
        for (i, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//")) {
            let columns = line.chars().count();
            // A link or a table cannot be broken.
            if columns > COMMENT_COLUMNS && !line.contains("://") && !line.contains('|') {
                faults.push(Finding::new(path, i + 1, format!("a comment of {columns} columns")));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_faults() {
        let (fits, long) = ("//\n".repeat(FILE_LINES), "//\n".repeat(FILE_LINES + 1));
        let checkout = Checkout::of([("crates/a/src/fits.rs", fits.as_str()), ("crates/a/src/long.rs", &long)]);
        let found = faults(&checkout);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].file, "crates/a/src/long.rs");
    }

    #[test]
    fn wide_comments_are_faults() {
        let text = format!("// {}\n    /// {}\n", "x".repeat(COMMENT_COLUMNS - 3), "x".repeat(COMMENT_COLUMNS));
        let found = comment_faults(&Checkout::of([("crates/a/src/lib.rs", text.as_str())]));
        assert_eq!(found.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn exceptions_of_functions_that_have_gone_are_faults() {
        assert_eq!(needless_exceptions(&Checkout::of([])).len(), LONG_FUNCTIONS.len());
    }

    #[test]
    fn long_functions_are_faults() {
        let function = |name: &str, lines: usize| format!("fn {name}() {{\n{}}}\n", "    x();\n".repeat(lines - 2));
        let text = function("fits", FUNCTION_LINES) + &function("long", FUNCTION_LINES + 1);
        let found = faults(&Checkout::of([("crates/a/src/lib.rs", text.as_str())]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].what.contains("`long`")), (FUNCTION_LINES + 1, true));
    }
}
