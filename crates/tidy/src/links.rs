//! Documents link to files and headings that exist.

use crate::{Checkout, Finding};

pub fn faults(checkout: &Checkout) -> Vec<Finding> {
    let mut faults = Vec::new();
    for (path, text) in checkout.documents() {
        for (line, target) in links(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.to_string() } else { resolve(path, file) };
            if !checkout.exists(&file) {
                faults.push(Finding::new(path, line, format!("the link `{target}` leads to no file")));
            } else if !heading.is_empty() && !headings(checkout.text(&file)).any(|h| h == heading) {
                faults.push(Finding::new(path, line, format!("the link `{target}` leads to no heading")));
            }
        }
    }
    faults
}

/// The targets of `[text](target)`, with their lines. Blocks of code are left out.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (i, line) in text.lines().enumerate() {
        inside ^= line.starts_with("```");
        if inside {
            continue;
        }
        for rest in line.split("](").skip(1) {
            found.extend(rest.split_once(')').map(|(target, _)| (i + 1, target)));
        }
    }
    found
}

/// The path of a file as seen from the folder of a document.
fn resolve(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The headings of a document as links name them: lower case, hyphens for spaces, no punctuation.
fn headings(text: Option<&str>) -> impl Iterator<Item = String> {
    text.unwrap_or_default().lines().filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let files = [("docs/a.md", text), ("docs/b.md", "# One heading, two words\n"), ("crates/x/src/lib.rs", "")];
        faults(&Checkout::of(files)).len()
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let text = "[b](b.md), [x](../crates/x/src), [x](../crates/x/src/lib.rs)\n[h](b.md#one-heading-two-words)\n\
                    [w](https://example.org/none)\n```\n[no](link)\n```\n";
        assert_eq!(found(text), 0);
    }

    #[test]
    fn links_that_lead_nowhere_are_faults() {
        assert_eq!(found("[c](c.md)"), 1);
        assert_eq!(found("[x](crates/x/src/lib.rs)"), 1);
        assert_eq!(found("[h](b.md#another)"), 1);
        assert_eq!(found("# Here\n[h](#here) [h](#there)"), 1);
    }
}
