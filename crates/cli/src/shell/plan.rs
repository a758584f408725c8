//! `muster explain`, and `\\plan` in the shell: the plan of a statement as a picture.

use super::{
    Place,
    backend::Backend,
    output::{Answer, Format, render},
};
use crate::print::{print, print_line};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Run the statement, and tell what its operators did
    #[arg(long)]
    analyze: bool,
    /// The file of the picture; without one, the plan is printed as a tree
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The statement, as one argument or as words
    #[arg(required = true)]
    statement: Vec<String>,
}

pub fn run(runtime: &Runtime, arguments: Arguments) -> anyhow::Result<()> {
    let mut backend = arguments.place.backend(runtime)?;
    let statement = arguments.statement.join(" ");
    let (sql, _) = super::interactive::without_terminator(&statement);
    let analyze = if arguments.analyze { "ANALYZE " } else { "" };
    match &arguments.svg {
        Some(file) => runtime.block_on(draw(&mut backend, sql, arguments.analyze, file)),
        None => {
            let answers = runtime.block_on(backend.run(&format!("EXPLAIN {analyze}FORMAT=TREE {sql}")))?;
            print(text(&answers)?)
        }
    }
}

/// `\\plan [analyze] FILE statement`: error for anything else behind `\\plan`.
pub fn command(runtime: &Runtime, backend: &mut Backend, arguments: &str) -> anyhow::Result<()> {
    let usage = "\\plan [analyze] FILE statement";
    let word = |text: &str| text.trim().split_once(char::is_whitespace).map(|(a, b)| (a.to_string(), b.to_string()));
    let (first, rest) = word(arguments).context(usage)?;
    let analyze = first.eq_ignore_ascii_case("analyze");
    let (file, sql) = if analyze { word(&rest).context(usage)? } else { (first, rest) };
    let (sql, _) = super::interactive::without_terminator(&sql);
    runtime.block_on(draw(backend, sql, analyze, Path::new(&file)))?;
    print_line(format_args!("{file}"))
}

/// Draws the plan of a statement into a file. The session's own version of the JSON format stays.
async fn draw(backend: &mut Backend, sql: &str, analyze: bool, file: &Path) -> anyhow::Result<()> {
    let before = cell(&backend.run("SELECT @@explain_json_format_version").await?)?;
    backend.run("SET explain_json_format_version = 2").await?;
    let analyze = if analyze { "ANALYZE " } else { "" };
    let answers = backend.run(&format!("EXPLAIN {analyze}FORMAT=JSON {sql}")).await;
    backend.run(&format!("SET explain_json_format_version = {before}")).await?;
    let json = text(&answers?)?;
    let picture =
        muster_engine::plan_picture(&json, sql).map_err(|e| anyhow::anyhow!("the plan cannot be drawn: {e}"))?;
    std::fs::write(file, picture).with_context(|| file.display().to_string())
}

fn cell(answers: &[Answer]) -> anyhow::Result<String> {
    match answers {
        [Answer::Rows { rows, .. }] => {
            let cell = rows.first().and_then(|row| row.first()).and_then(Clone::clone);
            cell.context("an answer without a value")
        }
        _ => bail!("an answer without rows"),
    }
}

/// The text that EXPLAIN answers.
fn text(answers: &[Answer]) -> anyhow::Result<String> {
    match cell(answers) {
        Ok(text) => Ok(text),
        Err(e) => bail!("{e}: {}", answers.iter().map(|answer| render(answer, Format::Csv)).collect::<String>()),
    }
}
