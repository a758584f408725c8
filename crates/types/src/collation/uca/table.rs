//! The weights of one collation, read from the files of [`crate::tables`].

use super::{
    computed::{self, Version},
    ranks::Ranks,
};
use crate::{
    collation::{Collation, definitions},
    tables::{self, TableReader, character},
};
use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, OnceLock, PoisonError},
};

/// A character or a contraction of the file, with its weights by level.
struct Entry {
    text: Vec<char>,
    weights: Vec<Vec<u16>>,
}

/// Weights from `first` to `last` that a language moves together (it has other scripts first, or capital letters).
struct Move {
    first: u16,
    last: u16,
    difference: i32,
    /// A weight in front of each that is moved; 0 if there is none.
    front: u16,
}

/// The weights of 256 characters at one level: those of character i are `weights[ends[i]..ends[i + 1]]`.
struct Page {
    ends: [u16; 257],
    weights: Vec<u16>,
}

/// The texts of several characters with weights of their own that begin with one character, the longest first.
type Contractions = Vec<Entry>;

/// The weights of one collation.
pub struct WeightTable {
    version: Version,
    /// By level and by the upper bits of a character; `None`: the weights of all 256 characters are computed.
    pages: Vec<Vec<Option<Box<Page>>>>,
    moves: Vec<Vec<Move>>,
    contractions: HashMap<char, Contractions>,
    pub ranks: Ranks,
    /// The weight of a space at the first level.
    pub space: u16,
    /// Texts of printable ASCII are equal at the first level exactly if they are so but for the case of letters.
    pub ascii_folds_case: bool,
}

const PAGES: usize = 0x1100;

impl WeightTable {
    /// The table of a collation; those of several are read once.
    pub fn of(collation: Collation, name: &str) -> &'static WeightTable {
        static OF_COLLATIONS: [OnceLock<&'static WeightTable>; definitions::ALL.len()] =
            [const { OnceLock::new() }; definitions::ALL.len()];
        static BY_NAME: LazyLock<Mutex<HashMap<String, &'static WeightTable>>> = LazyLock::new(Mutex::default);
        OF_COLLATIONS[collation as usize].get_or_init(|| {
            let mut known = BY_NAME.lock().unwrap_or_else(PoisonError::into_inner);
            *known.entry(name.to_owned()).or_insert_with(|| Box::leak(Box::new(WeightTable::read(name))))
        })
    }

    fn read(name: &str) -> WeightTable {
        if let Some((version, levels, entries)) = root(name) {
            return WeightTable::new(
                version,
                Vec::new(),
                (0..levels).map(|_| Vec::new()).collect(),
                entries,
                Vec::new(),
            );
        }
        let mut reader = TableReader::new(tables::UCA_TAILORINGS);
        loop {
            let (own, base) = (reader.text(), reader.text());
            let levels = reader.unsigned() as usize;
            let moves: Vec<Vec<Move>> = (0..levels).map(|_| read_moves(&mut reader)).collect();
            let entries = read_entries(&mut reader, levels);
            let contractions = read_entries(&mut reader, levels);
            if own == name {
                let (version, _, of_root) = root(&base).unwrap_or((Version::Latin1, levels, Vec::new()));
                return WeightTable::new(version, of_root, moves, entries, contractions);
            }
        }
    }

    /// `base`: the entries of the root, which `moves` change and `own` replace.
    fn new(
        version: Version,
        base: Vec<Entry>,
        moves: Vec<Vec<Move>>,
        own: Vec<Entry>,
        contractions: Vec<Entry>,
    ) -> WeightTable {
        let mut characters: HashMap<char, Vec<Vec<u16>>> = HashMap::with_capacity(base.len() + own.len());
        for mut entry in base {
            for (weights, moves) in entry.weights.iter_mut().zip(&moves) {
                move_weights(moves, weights, 0);
            }
            characters.insert(entry.text[0], entry.weights);
        }
        characters.extend(own.into_iter().map(|entry| (entry.text[0], entry.weights)));
        let mut by_first: HashMap<char, Contractions> = HashMap::new();
        for entry in contractions {
            by_first.entry(entry.text[0]).or_default().push(entry);
        }
        by_first.values_mut().for_each(|all| all.sort_by_key(|entry| std::cmp::Reverse(entry.text.len())));
        let levels = moves.len();
        let mut table = WeightTable {
            version,
            pages: (0..levels).map(|_| (0..PAGES).map(|_| None).collect()).collect(),
            moves,
            contractions: by_first,
            ranks: Ranks::new(Vec::new()),
            space: 0,
            ascii_folds_case: false,
        };
        table.fill_pages(&characters);
        let first_level = |b: u8| table.weights_of(b.into(), 0).unwrap_or_default();
        let ascii = (0..128).flat_map(|b: u8| first_level(b).to_vec()).collect();
        let printable = 0x20..0x7F;
        let folds_case = |a: u8| {
            let as_case = |b: u8| (first_level(a) == first_level(b)) == a.eq_ignore_ascii_case(&b);
            first_level(a).len() == 1 && printable.clone().all(as_case)
        };
        let ascii_folds_case = table.contractions.is_empty() && printable.clone().all(folds_case);
        let space = first_level(b' ').first().copied().unwrap_or_default();
        table.ascii_folds_case = ascii_folds_case;
        table.space = space;
        table.ranks = Ranks::new(ascii);
        table
    }

    fn fill_pages(&mut self, characters: &HashMap<char, Vec<Vec<u16>>>) {
        let mut used: Vec<usize> = characters.keys().map(|c| *c as usize >> 8).collect();
        used.sort_unstable();
        used.dedup();
        for number in used {
            for level in 0..self.pages.len() {
                let mut page = Page { ends: [0; 257], weights: Vec::new() };
                for low in 0..256 {
                    let c = char::from_u32((number << 8 | low) as u32);
                    match c.map(|c| (c, characters.get(&c))) {
                        Some((_, Some(weights))) => page.weights.extend_from_slice(&weights[level]),
                        Some((c, None)) => self.append_computed(c, level, &mut page.weights),
                        None => {}
                    }
                    page.ends[low + 1] = u16::try_from(page.weights.len()).expect("256 characters have few weights");
                }
                self.pages[level][number] = Some(Box::new(page));
            }
        }
    }

    /// The weights of a character at a level; `None` if they are computed.
    pub fn weights_of(&self, c: char, level: usize) -> Option<&[u16]> {
        let code = c as usize;
        let page = self.pages[level][code >> 8].as_ref()?;
        let low = code & 0xFF;
        Some(&page.weights[usize::from(page.ends[low])..usize::from(page.ends[low + 1])])
    }

    /// Appends the weights of a character that are computed.
    pub fn append_computed(&self, c: char, level: usize, out: &mut Vec<u16>) {
        if let Some(letters) = computed::hangul_letters(self.version, c) {
            return letters.for_each(|letter| out.extend(self.weights_of(letter, level).unwrap_or_default()));
        }
        let start = out.len();
        computed::append(self.version, c, level, out);
        move_weights(&self.moves[level], out, start);
    }

    /// Returns true for `latin1_german2_ci`.
    pub fn has_weights_of_one_byte(&self) -> bool {
        self.version == Version::Latin1
    }

    pub fn has_contractions(&self) -> bool {
        !self.contractions.is_empty()
    }

    /// The characters that contractions begin with.
    pub fn contraction_starts(&self) -> impl Iterator<Item = char> + '_ {
        self.contractions.keys().copied()
    }

    /// The weights at a level of the longest contraction that the text begins with, and its length in bytes. `first`:
    /// the text's first character.
    #[inline]
    pub fn contraction(&self, text: &str, first: char, level: usize) -> Option<(&[u16], usize)> {
        if self.contractions.is_empty() {
            return None;
        }
        let longest = self.contractions.get(&first)?.iter().find(|entry| {
            let mut characters = text.chars();
            entry.text.iter().all(|c| characters.next() == Some(*c))
        })?;
        Some((&longest.weights[level], longest.text.iter().map(|c| c.len_utf8()).sum()))
    }
}

/// The version, the number of levels and the entries of a table that no other is the base of.
fn root(name: &str) -> Option<(Version, usize, Vec<Entry>)> {
    let (version, file) = match name {
        "uca_9.0.0" => (Version::V9_0_0, tables::UCA_9_0_0),
        "uca_5.2.0" => (Version::V5_2_0, tables::UCA_5_2_0),
        "uca_4.0.0" => (Version::V4_0_0, tables::UCA_4_0_0),
        _ => return None,
    };
    let mut reader = TableReader::new(file);
    let levels = reader.unsigned() as usize;
    Some((version, levels, read_entries(&mut reader, levels)))
}

fn move_weights(moves: &[Move], weights: &mut Vec<u16>, start: usize) {
    let mut at = start;
    while at < weights.len() {
        if let Some(found) = moves.iter().find(|m| (m.first..=m.last).contains(&weights[at])) {
            weights[at] = (i32::from(weights[at]) + found.difference) as u16;
            if found.front != 0 {
                weights.insert(at, found.front);
                at += 1;
            }
        }
        at += 1;
    }
}

fn read_moves(reader: &mut TableReader) -> Vec<Move> {
    let count = reader.unsigned();
    let one = |_| Move {
        first: reader.unsigned() as u16,
        last: reader.unsigned() as u16,
        difference: reader.signed() as i32,
        front: reader.unsigned() as u16,
    };
    (0..count).map(one).collect()
}

fn read_entries(reader: &mut TableReader, levels: usize) -> Vec<Entry> {
    let count = reader.unsigned() as usize;
    let mut code = 0;
    let mut entries: Vec<Entry> = (0..count)
        .map(|_| Entry { text: vec![character(reader.next_after(&mut code))], weights: Vec::with_capacity(levels) })
        .collect();
    let more = reader.bytes(count).to_vec();
    for (entry, more) in entries.iter_mut().zip(more) {
        entry.text.extend((0..more).map(|_| character(reader.unsigned() as u32)));
    }
    for _ in 0..levels {
        let counts = reader.bytes(count).to_vec();
        let total = counts.iter().map(|n| usize::from(*n)).sum();
        let upper = reader.bytes(total).to_vec();
        let lower = reader.bytes(total);
        let mut weight = 0u16;
        let mut weights = upper.iter().zip(lower).map(|(upper, lower)| {
            weight = weight.wrapping_add(u16::from_be_bytes([*upper, *lower]));
            weight
        });
        for (entry, n) in entries.iter_mut().zip(counts) {
            entry.weights.push(weights.by_ref().take(n.into()).collect());
        }
    }
    entries
}
