//! Patterns of hosts and of databases' names: `%` any text, `_` any character.

/// Returns true if a client's host is one of an account's, letters without case. Loopback addresses are `localhost`
/// too.
pub fn host_matches(pattern: &str, host: &str) -> bool {
    let loopback = matches!(host, "127.0.0.1" | "::1");
    let same = |a: u8, b: u8| a.eq_ignore_ascii_case(&b);
    like(pattern.as_bytes(), host.as_bytes(), false, same) || (loopback && pattern.eq_ignore_ascii_case("localhost"))
}

/// Returns true if the pattern of a GRANT stands for the database. A backslash in front of `%`, `_` or itself makes it
/// an ordinary character.
pub fn database_matches(pattern: &str, database: &str) -> bool {
    like(pattern.as_bytes(), database.as_bytes(), true, |a, b| a == b)
}

/// LIKE. Backtracks to the last `%` only, so it takes at most pattern x text steps.
fn like(pattern: &[u8], text: &[u8], escapes: bool, same: impl Fn(u8, u8) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some(b'%') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'_') => Some(1),
            Some(b'\\') if escapes && p + 1 < pattern.len() => same(pattern[p + 1], text[t]).then_some(2),
            Some(c) => same(*c, text[t]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(bytes), _) => {
                p += bytes;
                t += 1;
            }
            (None, Some((after, from))) => {
                p = after;
                t = from + 1;
                star = Some((after, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == b'%')
}

/// How exact a pattern is, as MySQL sorts rows of mysql.db: without wildcards first, then by the place of the first
/// one.
pub fn exactness(pattern: &str) -> usize {
    const EXACT: usize = 128;
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if at + 1 < bytes.len() => at += 2,
            b'%' | b'_' => return (at + 1).min(EXACT - 1),
            _ => at += 1,
        }
    }
    EXACT
}

/// The pattern that stands for this name alone.
pub fn escaped(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_patterns() {
        for (pattern, host, want) in [
            ("%", "", true),
            ("10.%.1", "10.2.3.1", true),
            ("10.%.1", "10.2.3.2", false),
            ("h_st", "HOST", true),
            ("h_st", "hst", false),
            ("localhost", "::1", true),
        ] {
            assert_eq!(host_matches(pattern, host), want, "{pattern} {host}");
        }
    }

    #[test]
    fn database_patterns() {
        for (pattern, database, want) in [
            ("d_1", "dx1", true),
            ("d\\_1", "dx1", false),
            ("d\\_1", "d_1", true),
            ("d%", "d", true),
            ("D%", "d", false),
            ("%\\%", "a%", true),
            ("%\\%", "ab", false),
        ] {
            assert_eq!(database_matches(pattern, database), want, "{pattern} {database}");
        }
        assert!(database_matches(&escaped("a_%\\"), "a_%\\"));
        assert!(exactness("ab\\_") > exactness("abc%") && exactness("abc%") > exactness("ab_"));
    }
}
