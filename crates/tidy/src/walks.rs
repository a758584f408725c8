//! The walks through the code in `docs/design.md`: each is a list of the modules that a statement passes, and passes none of
//! them twice.

use crate::{Checkout, Fault};

const PAGE: &str = "docs/design.md";
const SECTION: &str = "## Ten walks";

pub fn faults(checkout: &Checkout) -> Vec<Fault> {
    let text = checkout.text(PAGE).unwrap_or_default();
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != SECTION).skip(1);
    let mut faults = Vec::new();
    let mut passed: Vec<&str> = Vec::new();
    for (i, line) in lines.take_while(|(_, line)| !line.starts_with("## ")) {
        let is_continued = line.starts_with(' ');
        if !is_continued {
            passed.clear();
        }
        for module in line.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains("::")) {
            if passed.contains(&module) {
                faults.push(Fault::new(PAGE, i + 1, format!("the walk enters `{module}` twice")));
            }
            passed.push(module);
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(walks: &str) -> Vec<String> {
        let text = format!("`a::b` and `a::b`\n\n{SECTION}\n\n{walks}\n## Next\n\n1. `a::b`, `a::b`\n");
        faults(&Checkout::of([(PAGE, &*text)])).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn two_walks_may_pass_the_same_module() {
        assert_eq!(found("1. `a::b`, `a::c`\n   and `a::d`.\n2. `a::b`, `a`, `a`.\n"), [""; 0]);
    }

    #[test]
    fn one_walk_may_not() {
        assert_eq!(found("1. `a::b`, `a::c`\n   and `a::b`.\n"), ["docs/design.md:6: the walk enters `a::b` twice"]);
    }
}
