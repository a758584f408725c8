//! The members of an ENUM or SET type, and what its numbers mean.
//!
//! An ENUM value is the position of a member, from 1; 0 is the empty text that a wrong value is stored as. A SET value
//! has a bit for each member, the first member's the lowest.
//!
//! Types are copied everywhere, so a [`MemberList`] is a reference to a list that is kept as long as the process runs.
//! Equal lists are kept once: memory grows with the number of different lists that tables have been declared with, not
//! with the number of tables or statements.

use crate::Collation;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::{HashMap, HashSet},
    fmt,
    hash::{Hash, Hasher},
    sync::{LazyLock, Mutex, PoisonError},
};

/// Most members of an ENUM.
pub const ENUM_MEMBERS_MAX: usize = 65_535;
/// Most members of a SET.
pub const SET_MEMBERS_MAX: usize = 64;
/// Most members of an ENUM whose numbers take one byte.
const ONE_BYTE_MAX: usize = 255;

static LISTS: LazyLock<Mutex<HashSet<&'static Members>>> = LazyLock::new(Mutex::default);

struct Members {
    names: Vec<String>,
    collation: Collation,
    /// Positions, from 1, by the sort key of the member.
    positions: HashMap<Vec<u8>, usize>,
}

/// The members of an ENUM or SET in their order, and the collation that their texts compare under.
#[derive(Clone, Copy)]
pub struct MemberList(&'static Members);

impl MemberList {
    pub fn new(names: Vec<String>, collation: Collation) -> MemberList {
        let mut positions = HashMap::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            positions.entry(collation.sort_key(name)).or_insert(i + 1);
        }
        let members = Members { names, collation, positions };
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(&members) {
            return MemberList(known);
        }
        let kept: &'static Members = Box::leak(Box::new(members));
        lists.insert(kept);
        MemberList(kept)
    }

    pub fn names(self) -> &'static [String] {
        &self.0.names
    }

    pub fn collation(self) -> Collation {
        self.0.collation
    }

    /// The same members under another collation.
    pub fn with_collation(self, collation: Collation) -> MemberList {
        if collation == self.0.collation { self } else { MemberList::new(self.0.names.clone(), collation) }
    }

    /// Returns true if the first members are all of `other`, under the same collation.
    pub fn begins_with(self, other: MemberList) -> bool {
        self.0.collation == other.0.collation && self.0.names.starts_with(&other.0.names)
    }

    /// The position, from 1, of the member that equals the text under the collation.
    pub fn position(self, text: &str) -> Option<usize> {
        self.0.positions.get(&self.0.collation.sort_key(text)).copied()
    }

    /// A member that a later one equals.
    pub fn duplicate(self) -> Option<&'static str> {
        let names = self.0.names.iter().enumerate();
        let mut first = names.filter_map(|(i, name)| self.position(name).filter(|position| *position <= i));
        first.next().map(|position| self.0.names[position - 1].as_str())
    }

    /// The text of an ENUM value: empty for 0.
    pub fn enum_text(self, position: u64) -> &'static str {
        let index = usize::try_from(position).ok().and_then(|p| p.checked_sub(1));
        index.and_then(|i| self.0.names.get(i)).map_or("", String::as_str)
    }

    /// The text of a SET value: its members in the order of the type, with commas between them.
    pub fn set_text(self, bits: u64) -> String {
        let chosen = self.0.names.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
        chosen.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(",")
    }

    /// The bits of the members that a text names, and whether it names nothing but members.
    pub fn set_bits(self, text: &str) -> (u64, bool) {
        if text.is_empty() {
            return (0, true);
        }
        text.split(',').fold((0, true), |(bits, all), part| match self.position(part) {
            Some(position) => (bits | 1 << (position - 1), all),
            None => (bits, false),
        })
    }

    /// The bits of all members of a SET.
    pub fn all_bits(self) -> u64 {
        match self.0.names.len() {
            n @ 0..64 => (1 << n) - 1,
            _ => u64::MAX,
        }
    }

    /// Characters of the longest member: the length of an ENUM.
    pub fn longest(self) -> u32 {
        self.lengths().max().unwrap_or(0)
    }

    /// Characters of all members and the commas between them: the length of a SET.
    pub fn total_length(self) -> u32 {
        let commas = (self.0.names.len() as u32).saturating_sub(1);
        self.lengths().fold(commas, u32::saturating_add)
    }

    fn lengths(self) -> impl Iterator<Item = u32> {
        self.0.names.iter().map(|name| u32::try_from(name.chars().count()).unwrap_or(u32::MAX))
    }

    /// Returns true if the positions of the members fit one byte.
    pub fn fits_one_byte(self) -> bool {
        self.0.names.len() <= ONE_BYTE_MAX
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Members) -> bool {
        self.collation == other.collation && self.names == other.names
    }
}

impl Eq for Members {}

impl Hash for Members {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.names, self.collation).hash(state)
    }
}

/// Equal lists are the same list.
impl PartialEq for MemberList {
    fn eq(&self, other: &MemberList) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for MemberList {}

impl Hash for MemberList {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state)
    }
}

impl fmt::Debug for MemberList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemberList").field(&self.0.names).field(&self.0.collation).finish()
    }
}

/// The list as it is written behind ENUM and SET: `('a','b')`.
impl fmt::Display for MemberList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.names.iter().enumerate() {
            let before = if i == 0 { '(' } else { ',' };
            write!(f, "{before}'{}'", name.replace('\\', "\\\\").replace('\'', "''"))?;
        }
        f.write_str(")")
    }
}

impl Serialize for MemberList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.0.names, self.0.collation).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MemberList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MemberList, D::Error> {
        let (names, collation) = Deserialize::deserialize(deserializer)?;
        Ok(MemberList::new(names, collation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> MemberList {
        MemberList::new(names.iter().map(|n| n.to_string()).collect(), Collation::DEFAULT)
    }

    #[test]
    fn texts_and_numbers_of_members() {
        let members = list(&["b", "a", "C", "x y"]);
        assert_eq!(members, list(&["b", "a", "C", "x y"]));
        assert_ne!(members, members.with_collation(Collation::Utf8mb4Bin));
        assert_eq!((members.position("A"), members.position("c"), members.position("d")), (Some(2), Some(3), None));
        assert_eq!((members.enum_text(0), members.enum_text(4), members.enum_text(5)), ("", "x y", ""));
        assert_eq!(members.set_text(0b1011), "b,a,x y");
        assert_eq!(members.set_bits("C,B,b"), (0b101, true));
        assert_eq!(members.set_bits("a,"), (0b10, false));
        assert_eq!(members.set_bits(""), (0, true));
        assert_eq!((members.longest(), members.total_length(), members.all_bits()), (3, 9, 15));
        assert_eq!(list(&["a", "A"]).duplicate(), Some("a"));
        assert_eq!(list(&["it's", "\\"]).to_string(), "('it''s','\\\\')");
    }
}
