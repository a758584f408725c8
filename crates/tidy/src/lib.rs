//! Rules about the repository itself. Each module is one rule: it looks at a [`Checkout`] and returns the [`Finding`]s
//! it found. The test `repository` applies all of them to the checkout that it stands in.
//!
//! ```text
//!   lengths         how long a file and a function may be, and how wide a comment; long_functions: exceptions
//!   names           words that say nothing and may not be part of a name
//!   crate_arrows    who depends on whom, as the table in docs/design.md says
//!   module_arrows   the modules of a crate know only floors below theirs
//!   links           what documents link to exists
//!   code_paths      paths of files and of modules that documents name exist
//!   walks           the walks of docs/design.md are calls in the code, and enter no module twice
//!   commands        cargo commands in documents name packages, tests and aliases that exist
//! ```
//!
//! `source` reads Rust just well enough for them: it relies on the format that rustfmt gives to code.

pub mod code_paths;
pub mod commands;
pub mod crate_arrows;
pub mod lengths;
pub mod links;
mod long_functions;
pub mod module_arrows;
pub mod names;
mod source;
pub mod walks;

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

/// The files of the repository that rules look at: text by path, and the path is relative to the root and has forward
/// slashes. A file that is not UTF-8 has an empty text.
pub struct Checkout {
    files: BTreeMap<String, String>,
}

/// A place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    pub what: String,
}

impl Checkout {
    /// Reads the checkout whose root folder is given. Build products and version control are left out.
    pub fn read(root: &Path) -> io::Result<Checkout> {
        let mut files = BTreeMap::new();
        read_folder(root, "", &mut files)?;
        Ok(Checkout { files })
    }

    /// A checkout that exists only in memory.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Checkout {
        Checkout { files: files.into_iter().map(|(path, text)| (path.to_string(), text.to_string())).collect() }
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns true if there is a file or a folder of this path.
    pub fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.contains_key(path) || self.below(&format!("{path}/")).next().is_some()
    }

    /// The files whose path begins with `prefix`.
    pub fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let from = self.files.range(prefix.to_string()..);
        from.take_while(move |(path, _)| path.starts_with(prefix)).map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The Rust files of all crates.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.below("crates/").filter(|(path, _)| path.ends_with(".rs"))
    }

    /// The documents: those in `docs` and those in the root folder.
    pub fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        all.filter(|(path, _)| path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/')))
    }
}

impl Finding {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding { file: file.to_string(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Folders that hold what tools make, or what is not written by hand.
const NOT_READ: [&str; 6] = ["target", ".git", "corpus", "artifacts", "seeds", "muster-demo"];

fn read_folder(root: &Path, folder: &str, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if NOT_READ.contains(&name.as_str()) {
                // Links may lead to the folder, but what it holds is nobody's concern.
                files.insert(path, String::new());
            } else {
                read_folder(root, &path, files)?;
            }
        } else if kind.is_file() {
            let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
            files.insert(path, text);
        }
    }
    Ok(())
}
