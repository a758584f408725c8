//! Files that a command writes beside what it prints.

use anyhow::Context;
use serde::Serialize;
use std::path::Path;

/// Writes a text into a file. Errors: those of the file, with its path.
pub fn write(path: &Path, text: impl AsRef<str>) -> anyhow::Result<()> {
    std::fs::write(path, text.as_ref()).with_context(|| path.display().to_string())
}

/// Writes a report as JSON, if there is a file for it. Errors: as [`write`].
pub fn write_json(path: Option<&Path>, report: &(impl Serialize + ?Sized)) -> anyhow::Result<()> {
    match path {
        Some(path) => write(path, serde_json::to_string_pretty(report)? + "\n"),
        None => Ok(()),
    }
}
