//! How long a file and a function may be. What is longer holds more than one idea.

use crate::{Checkout, Fault, source::functions};

/// The most lines of a file.
pub const FILE_LINES: usize = 600;
/// The most lines of a function, from its signature to its closing brace.
pub const FUNCTION_LINES: usize = 150;

pub fn faults(checkout: &Checkout) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in checkout.rust() {
        let lines = text.lines().count();
        if lines > FILE_LINES {
            faults.push(Fault::new(path, lines, format!("the file has {lines} lines, more than {FILE_LINES}")));
        }
        for function in functions(text).iter().filter(|f| f.lines() > FUNCTION_LINES) {
            let what = format!("`{}` has {} lines, more than {FUNCTION_LINES}", function.name, function.lines());
            faults.push(Fault::new(path, function.first, what));
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
    fn long_functions_are_faults() {
        let function = |name: &str, lines: usize| format!("fn {name}() {{\n{}}}\n", "    x();\n".repeat(lines - 2));
        let text = function("fits", FUNCTION_LINES) + &function("long", FUNCTION_LINES + 1);
        let found = faults(&Checkout::of([("crates/a/src/lib.rs", text.as_str())]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].what.contains("`long`")), (FUNCTION_LINES + 1, true));
    }
}
