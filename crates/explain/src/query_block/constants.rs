//! Tables of one row, which MySQL reads before all others.

use super::{Extra, TableLine};
use std::collections::HashSet;

/// Tables of one row come first, and what is compared with their columns is compared with a constant.
pub fn constants_first(tables: &mut Vec<TableLine<'_>>) {
    let is_constant = |line: &TableLine<'_>| line.access_type == "const" && !line.is_inner;
    if !tables.iter().any(is_constant) {
        return;
    }
    let mut constants: HashSet<String> = HashSet::new();
    loop {
        let before = constants.len();
        for line in tables.iter_mut() {
            let Some(scan) = line.scan else { continue };
            let of_constant = |name: &String| constants.iter().any(|prefix| name.starts_with(prefix.as_str()));
            line.compared.iter_mut().filter(|name| of_constant(name)).for_each(|name| *name = "const".into());
            if line.access_type == "eq_ref" && !line.is_inner && line.compared.iter().all(|name| name == "const") {
                line.access_type = "const";
                line.condition.clear();
                line.index_condition.clear();
                line.extras.retain(|extra| matches!(extra, Extra::Index));
            }
            if line.access_type == "const" && !line.is_inner {
                constants.insert(format!("{}.{}.", scan.table.database, scan.alias));
            }
        }
        if constants.len() == before {
            break;
        }
    }
    tables.sort_by_key(|line| !is_constant(line));
}
