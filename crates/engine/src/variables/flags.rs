//! Values of variables that are lists of flags: `enabled=on,one_line=off`.

/// The value `current` with the flags changed that `change` names: `flag=on|off|default`, or `default` for all of them.
/// The error is the part of `change` that is wrong, also when it names a flag a second time.
pub fn changed(names: &[&str], current: &str, default: &str, change: &str) -> Result<String, String> {
    let mut states: Vec<bool> = names.iter().map(|name| is_on(current, name)).collect();
    let mut seen = Vec::new();
    for item in change.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        if item.eq_ignore_ascii_case("default") {
            states = names.iter().map(|name| is_on(default, name)).collect();
            continue;
        }
        let wrong = || item.to_string();
        let (name, state) = item.split_once('=').ok_or_else(wrong)?;
        let position = names.iter().position(|known| known.eq_ignore_ascii_case(name.trim())).ok_or_else(wrong)?;
        if seen.contains(&position) {
            return Err(wrong());
        }
        seen.push(position);
        states[position] = match state.trim().to_ascii_lowercase().as_str() {
            "on" | "1" => true,
            "off" | "0" => false,
            "default" => is_on(default, names[position]),
            _ => return Err(wrong()),
        };
    }
    let shown = names.iter().zip(states).map(|(name, on)| format!("{name}={}", if on { "on" } else { "off" }));
    Ok(shown.collect::<Vec<_>>().join(","))
}

/// Returns true if a checked value has a flag on.
pub fn is_on(value: &str, name: &str) -> bool {
    value.split(',').filter_map(|item| item.split_once('=')).any(|(flag, state)| flag == name && state == "on")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_change_one_by_one() {
        let (names, default) = (["a", "b"], "a=off,b=on");
        let set = |current: &str, change: &str| changed(&names, current, default, change);
        assert_eq!(set(default, "A=on").unwrap(), "a=on,b=on");
        assert_eq!(set("a=on,b=off", "b=default").unwrap(), "a=on,b=on");
        assert_eq!(set("a=on,b=off", "default").unwrap(), default);
        for wrong in ["c=on", "a", "a=2", "a=on,a=off"] {
            assert!(set(default, wrong).is_err(), "{wrong}");
        }
    }
}
