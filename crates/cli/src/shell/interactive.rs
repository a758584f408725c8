//! The shell on a terminal: history, statements over several lines, `\G`, Ctrl-C.

use super::{
    backend::Backend,
    output::{self, Format},
    plan,
};
use crate::print::{print, print_line};
use rustyline::{
    Completer, Editor, Helper, Highlighter, Hinter,
    error::ReadlineError,
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};
use std::{path::PathBuf, time::Instant};
use tokio::runtime::Runtime;

const HISTORY_MAX: usize = 10_000;
const HELP: &str = "\
Statements end with ; or \\G (vertical). Ctrl-C stops a statement, Ctrl-D or exit leaves.
\\h help   \\q quit   \\f table|vertical|csv|json  how results are shown
\\plan [analyze] FILE statement   the plan as a picture (SVG)
";

pub fn run(runtime: &Runtime, mut backend: Backend, mut format: Format) -> anyhow::Result<()> {
    let config = rustyline::Config::builder().max_history_size(HISTORY_MAX)?.auto_add_history(true).build();
    let mut editor: Editor<Statements, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Statements));
    let history = history_file();
    if let Some(file) = &history {
        // There is none the first time.
        let _ = editor.load_history(file);
    }
    print_line(concat!("Muster ", env!("CARGO_PKG_VERSION"), ". \\h for help."))?;
    loop {
        let text = match editor.readline("muster> ") {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(e) => return Err(e.into()),
        };
        match text.trim() {
            "" => continue,
            "exit" | "quit" | "exit;" | "quit;" | "\\q" => break,
            "help" | "help;" | "\\h" | "?" => print(HELP)?,
            command if command.starts_with("\\f") => match clap::ValueEnum::from_str(command[2..].trim(), true) {
                Ok(f) => format = f,
                Err(_) => print_line("table, vertical, csv or json")?,
            },
            command if command.starts_with("\\plan") => {
                if let Err(e) = plan::command(runtime, &mut backend, &command[5..]) {
                    eprintln!("{e:#}");
                }
            }
            statements => run_all(runtime, &mut backend, statements, format)?,
        }
    }
    if let Some(file) = &history
        && let Err(e) = editor.save_history(file)
    {
        eprintln!("{}: {e}", file.display());
    }
    Ok(())
}

/// Runs the statements of one input; an error ends them, not the shell.
fn run_all(runtime: &Runtime, backend: &mut Backend, text: &str, format: Format) -> anyhow::Result<()> {
    let statements = match backend.split(text) {
        Ok(statements) => statements,
        Err(e) => {
            eprintln!("{e:#}");
            return Ok(());
        }
    };
    for statement in statements {
        let (sql, vertical) = without_terminator(&statement);
        let since = Instant::now();
        match runtime.block_on(backend.run(sql)) {
            Ok(answers) => {
                let format = if vertical { Format::Vertical } else { format };
                for answer in &answers {
                    print(output::render(answer, format))?;
                }
                if matches!(format, Format::Table | Format::Vertical) {
                    print_line(format_args!("({:.3} s)\n", since.elapsed().as_secs_f64()))?;
                }
            }
            Err(e) => {
                eprintln!("{e:#}");
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The statement without `\G` or `\g` behind it, and whether it was `\G`.
pub fn without_terminator(statement: &str) -> (&str, bool) {
    let text = statement.trim().trim_end_matches(';').trim_end();
    match text.strip_suffix("\\G") {
        Some(rest) => (rest.trim_end(), true),
        None => (text.strip_suffix("\\g").unwrap_or(text).trim_end(), false),
    }
}

fn history_file() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".muster_history"))
}

/// An input is complete when its last statement is ended, outside quotes and comments.
#[derive(Completer, Helper, Highlighter, Hinter)]
struct Statements;

impl Validator for Statements {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let complete = is_complete(context.input());
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

fn is_complete(input: &str) -> bool {
    let text = input.trim();
    let command = matches!(text, "" | "exit" | "quit" | "help" | "?") || text.starts_with('\\');
    command || (!inside_quotes(text) && [";", "\\G", "\\g"].iter().any(|end| text.ends_with(end)))
}

/// Returns true if the text ends inside a quoted text, a quoted name or a comment.
fn inside_quotes(text: &str) -> bool {
    let mut rest = text.char_indices();
    let mut quote: Option<char> = None;
    while let Some((i, c)) = rest.next() {
        match quote {
            Some('#') if c == '\n' => quote = None,
            Some('*') if text[i..].starts_with("*/") => {
                rest.next();
                quote = None;
            }
            Some(q @ ('\'' | '"')) if c == '\\' || c == q => {
                if c == q {
                    quote = None;
                } else {
                    rest.next();
                }
            }
            Some(q) if c == q && q == '`' => quote = None,
            Some(_) => {}
            None if text[i..].starts_with("/*") => quote = Some('*'),
            None if c == '#' || text[i..].starts_with("-- ") => quote = Some('#'),
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None => {}
        }
    }
    quote.is_some_and(|q| q != '#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_statement_ends() {
        for complete in ["select 1;", "select ';';", "select 1\\G", "\\q", "select 'it''s';"] {
            assert!(is_complete(complete), "{complete}");
        }
        for incomplete in ["select 1", "select ';", "select 1 /* ;", "select `a;", "select 'a\\';"] {
            assert!(!is_complete(incomplete), "{incomplete}");
        }
    }

    #[test]
    fn terminators() {
        assert_eq!(without_terminator("select 1\\G"), ("select 1", true));
        assert_eq!(without_terminator(" select 1 ; "), ("select 1", false));
    }
}
