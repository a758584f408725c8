//! Which crate depends on which. The table of crates in `docs/design.md` says it, from the ground up; each `Cargo.toml`
//! must say the same, so that no dependency is added without a look at the map.

use crate::{Checkout, Finding};
use std::collections::BTreeSet;

const MAP: &str = "docs/design.md";

/// Libraries that decide how a crate is written, and the only crates that may know them.
const LIBRARIES: [(&str, &[&str]); 5] = [
    ("datafusion", &["exec"]),
    ("sqlparser", &["sql"]),
    ("rustls", &["server", "cli"]),
    ("mysql_common", &["protocol", "server"]),
    ("io-uring", &["storage"]),
];

/// A row of the table: the crate in its first column, the crates in the column "depends on".
struct Row<'a> {
    line: usize,
    name: &'a str,
    needs: BTreeSet<&'a str>,
}

pub fn faults(checkout: &Checkout) -> Vec<Finding> {
    let Some(rows) = checkout.text(MAP).map(rows) else { return vec![Finding::new(MAP, 1, "the file does not exist")] };
    let mut faults = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        for above in row.needs.iter().filter(|need| !rows[..i].iter().any(|r| r.name == **need)) {
            faults.push(Finding::new(
                MAP,
                row.line,
                format!("`{}` depends on `{above}`, which stands no lower", row.name),
            ));
        }
        if checkout.text(&format!("crates/{}/Cargo.toml", row.name)).is_none() {
            faults.push(Finding::new(MAP, row.line, format!("there is no crate `{}`", row.name)));
        }
    }
    for (path, text) in checkout.below("crates/") {
        let Some(name) = path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml")) else { continue };
        let Some(row) = rows.iter().find(|row| row.name == name) else {
            faults.push(Finding::new(path, 1, format!("the table of crates in {MAP} does not have `{name}`")));
            continue;
        };
        for (line, dependency) in dependencies(text) {
            match dependency.strip_prefix("muster-") {
                Some(need) if !row.needs.contains(need) => {
                    let what = format!("`{name}` depends on `{need}`, which the table of crates in {MAP} does not say");
                    faults.push(Finding::new(path, line, what));
                }
                Some(_) => {}
                None => faults.extend(library(path, line, name, dependency)),
            }
        }
        let real: BTreeSet<_> = dependencies(text).filter_map(|(_, d)| d.strip_prefix("muster-")).collect();
        for need in row.needs.difference(&real) {
            faults.push(Finding::new(MAP, row.line, format!("`{name}` does not depend on `{need}`")));
        }
    }
    faults
}

fn library(path: &str, line: usize, name: &str, dependency: &str) -> Option<Finding> {
    let (library, known_by) = LIBRARIES.iter().find(|(library, _)| dependency.starts_with(library))?;
    let what = format!("`{name}` must not know {library}: only {} may", known_by.join(", "));
    (!known_by.contains(&name)).then(|| Finding::new(path, line, what))
}

/// The rows of the table under the heading "Crates".
fn rows(map: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut column = None;
    let section = map.lines().enumerate().skip_while(|(_, line)| *line != "## Crates").skip(1);
    let section = section.take_while(|(_, line)| !line.starts_with("## "));
    for (i, line) in section.filter(|(_, line)| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        column = column.or(cells.iter().position(|cell| *cell == "depends on"));
        let (Some(column), Some(name)) = (column, quoted(cells[0]).next()) else { continue };
        let needs = cells.get(column).map(|cell| quoted(cell).collect()).unwrap_or_default();
        rows.push(Row { line: i + 1, name, needs });
    }
    rows
}

/// The texts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names under `[dependencies]`, with their lines. What only tests need is not looked at.
fn dependencies(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    manifest.lines().enumerate().filter_map(move |(i, line)| {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
            return None;
        }
        let name = line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
        inside.then_some((i + 1, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "## Crates\n\nSee `x`.\n\n| crate | owns | depends on |\n|---|---|---|\n| `types` | values | |\n| `sql` | `Rel` | `types` |\n| `cli` | all | `sql`, `types` |\n";

    fn found(manifests: [&str; 3]) -> Vec<String> {
        let paths = ["crates/types/Cargo.toml", "crates/sql/Cargo.toml", "crates/cli/Cargo.toml"];
        let files = paths.into_iter().zip(manifests).chain([(MAP, TABLE)]);
        faults(&Checkout::of(files)).into_iter().map(|f| f.what).collect()
    }

    const SQL: &str = "[dependencies]\nmuster-types.workspace = true\nsqlparser.workspace = true\n";
    const CLI: &str = "[dependencies]\nmuster-sql.workspace = true\nmuster-types = { path = \"../types\" }\n";

    #[test]
    fn crates_that_depend_as_the_table_says_are_fine() {
        assert_eq!(
            found(["[dependencies]\nserde = \"1\"\n\n[dev-dependencies]\nmuster-sql = {}\n", SQL, CLI]),
            [""; 0]
        );
    }

    #[test]
    fn an_arrow_that_the_table_does_not_draw_is_a_fault() {
        let up = "[dependencies]\nmuster-cli.workspace = true\n";
        assert_eq!(
            found([up, SQL, CLI]),
            ["`types` depends on `cli`, which the table of crates in docs/design.md does not say"]
        );
    }

    #[test]
    fn an_arrow_that_is_drawn_but_not_there_is_a_fault() {
        assert_eq!(found(["", "[dependencies]\n", CLI]), ["`sql` does not depend on `types`"]);
    }

    #[test]
    fn an_arrow_upward_in_the_table_is_a_fault() {
        let table = "## Crates\n| crate | depends on |\n| `a` | `b` |\n| `b` | |\n";
        let files =
            [(MAP, table), ("crates/a/Cargo.toml", "[dependencies]\nmuster-b = {}\n"), ("crates/b/Cargo.toml", "")];
        let found = faults(&Checkout::of(files));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "`a` depends on `b`, which stands no lower");
    }

    #[test]
    fn libraries_stay_in_their_crates() {
        let datafusion = "[dependencies]\ndatafusion-expr.workspace = true\n";
        assert_eq!(found([datafusion, SQL, CLI]), ["`types` must not know datafusion: only exec may"]);
    }

    #[test]
    fn a_crate_without_a_row_is_a_fault() {
        let files = [(MAP, "## Crates\n| crate | depends on |\n"), ("crates/a/Cargo.toml", "")];
        assert_eq!(faults(&Checkout::of(files)).len(), 1);
    }
}
