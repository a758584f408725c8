//! Standard output. A reader that has left (`muster demo | head`) ends the command quietly; `print!` would panic.

use std::{
    fmt,
    io::{self, Write},
};

/// Nobody reads the output any more.
#[derive(Debug)]
pub struct OutputClosed;

impl fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for OutputClosed {}

/// Writes a text and flushes it. Errors: [`OutputClosed`], and what else the output says (a full disk).
pub fn print(text: impl fmt::Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => anyhow::Error::new(OutputClosed),
        _ => anyhow::Error::new(e).context("standard output"),
    })
}

/// Prints as [`print`] does, with a line end.
pub fn print_line(text: impl fmt::Display) -> anyhow::Result<()> {
    print(format_args!("{text}\n"))
}
