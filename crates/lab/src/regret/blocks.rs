//! The query blocks of a text and the tables of each, as optimizer hints name them: `orders@select#2`. Blocks are
//! numbered in the order of their SELECTs in the text.

/// A SELECT and what its FROM names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    pub tables: Vec<TableRef>,
}

/// A table or a derived table in a FROM clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRef {
    /// The name of the table; `None` for a derived table.
    pub table: Option<String>,
    /// The name that the block knows it by.
    pub alias: String,
}

/// Words that follow a table in FROM and are no alias.
const NO_ALIAS: &[&str] = &[
    "on",
    "where",
    "join",
    "inner",
    "left",
    "right",
    "cross",
    "natural",
    "straight_join",
    "using",
    "group",
    "order",
    "having",
    "limit",
    "union",
    "force",
    "use",
    "ignore",
    "select",
    "as",
    "intersect",
    "except",
];
/// Words that end a FROM clause.
const AFTER_FROM: &[&str] = &["where", "group", "order", "having", "limit", "union", "intersect", "except"];

/// What the scan expects next in a FROM clause.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected {
    /// The text is not in a FROM clause.
    Nothing,
    Table,
    /// An alias or the end of the table.
    Alias,
    /// A comma, a JOIN or the end of the clause.
    More,
}

/// A pair of parentheses: its block, if it has a SELECT of its own, and the state of its FROM clause.
struct Scope {
    block: Option<usize>,
    expected: Expected,
}

/// The blocks of a statement, `select#1` first.
pub fn blocks(sql: &str) -> Vec<Block> {
    let outside = || Scope { block: None, expected: Expected::Nothing };
    let (mut blocks, mut scopes): (Vec<Block>, Vec<Scope>) = (Vec::new(), vec![outside()]);
    for word in words(sql) {
        let Some(scope) = scopes.last_mut() else { break };
        match word.as_str() {
            "(" => scopes.push(outside()),
            ")" => {
                scopes.pop();
                if let Some(Scope { block: Some(block), expected }) = scopes.last_mut()
                    && *expected == Expected::Table
                {
                    blocks[*block].tables.push(TableRef { table: None, alias: String::new() });
                    *expected = Expected::Alias;
                }
            }
            "select" => {
                *scope = Scope { block: Some(blocks.len()), expected: Expected::Nothing };
                blocks.push(Block::default());
            }
            word => {
                if let Some(block) = scope.block {
                    scope.expected = next(&mut blocks[block], scope.expected, word);
                }
            }
        }
    }
    for block in &mut blocks {
        block.tables.retain(|t| !t.alias.is_empty());
    }
    blocks
}

/// Takes one word of a block and returns what is expected after it.
fn next(block: &mut Block, expected: Expected, word: &str) -> Expected {
    let is_name = |w: &str| !NO_ALIAS.contains(&w) && w.starts_with(|c: char| c.is_alphabetic() || c == '_');
    match (expected, word) {
        (_, "from") => Expected::Table,
        (Expected::Nothing, _) => Expected::Nothing,
        (_, word) if AFTER_FROM.contains(&word) => Expected::Nothing,
        (_, "," | "join" | "straight_join") => Expected::Table,
        (Expected::Table, word) if is_name(word) => {
            block.tables.push(TableRef { table: Some(word.to_owned()), alias: word.to_owned() });
            Expected::Alias
        }
        (Expected::Alias, "as") => Expected::Alias,
        (Expected::Alias, word) if is_name(word) => {
            if let Some(table) = block.tables.last_mut() {
                word.clone_into(&mut table.alias);
            }
            Expected::More
        }
        (Expected::Table, _) => Expected::Table,
        _ => Expected::More,
    }
}

/// Names, numbers and signs of a text, in lower case. Literals and comments are left out.
fn words(sql: &str) -> Vec<String> {
    let (mut words, mut chars) = (Vec::new(), sql.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                chars.by_ref().find(|c| *c == '\'');
            }
            '-' if chars.peek() == Some(&'-') => {
                chars.by_ref().find(|c| *c == '\n');
            }
            c if c.is_alphanumeric() || c == '_' => {
                let mut word = c.to_lowercase().to_string();
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_' || *c == '.') {
                    word.extend(c.to_lowercase());
                }
                words.push(word);
            }
            c if c.is_whitespace() => {}
            c => words.push(c.to_string()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables by block, as "table" or "table alias"; a derived table is "() alias".
    fn shown(sql: &str) -> Vec<Vec<String>> {
        let one = |t: &TableRef| match &t.table {
            Some(table) if *table == t.alias => table.clone(),
            table => format!("{} {}", table.as_deref().unwrap_or("()"), t.alias),
        };
        blocks(sql).iter().map(|b| b.tables.iter().map(one).collect()).collect()
    }

    #[test]
    fn clauses_of_all_kinds() {
        assert_eq!(shown("select 1"), [Vec::<String>::new()]);
        assert_eq!(
            shown("SELECT a, f(b, c) FROM t, U as v LEFT JOIN w x ON t.a = x.b, y WHERE a = 'from z'"),
            [["t", "u v", "w x", "y"]]
        );
        assert_eq!(
            shown("select extract(year from a), b from t where c in (select d from u) group by e, f"),
            [["t"], ["u"]]
        );
        assert_eq!(
            shown("with c as (select 1 from a) select * from c, (select b from t group by b) as d limit 1"),
            [vec!["a"], vec!["c", "() d"], vec!["t"]]
        );
        assert_eq!(shown("select * from t force index (i), u -- from v\n where a > 1"), [["t", "u"]]);
        assert_eq!(shown("select a from t union select b from u"), [["t"], ["u"]]);
    }

    #[test]
    fn queries_of_dbt3() {
        let sql = |name: &str| crate::queries::DBT3.iter().find(|q| q.name == name).expect("a query of this name").sql;
        assert_eq!(
            shown(sql("q07")),
            [vec!["() shipping"], vec!["supplier", "lineitem", "orders", "customer", "nation n1", "nation n2"]]
        );
        assert_eq!(
            shown(sql("q21")),
            [vec!["supplier", "lineitem l1", "orders", "nation"], vec!["lineitem l2"], vec!["lineitem l3"]]
        );
        assert_eq!(shown(sql("q20")), [vec!["supplier", "nation"], vec!["partsupp"], vec!["part"], vec!["lineitem"]]);
    }
}
