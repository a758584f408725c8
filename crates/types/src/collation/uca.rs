//! `utf8mb4_0900_ai_ci`: primary weights of the Unicode Collation Algorithm, punctuation counted, NO PAD.
//!
//! A sort key is the weights of the characters one after another:
//!
//! ```text
//!   ASCII character            its rank, one byte: 2, 4, 6, ... in the order of the algorithm; letters of both cases
//!                              share one; control characters other than tab to carriage return weigh nothing
//!   é, ß, ﬁ, Ａ                the ranks of e, ss, fi, a: what is equal to ASCII at the primary level
//!   combining marks            nothing
//!   any other character        the odd number between the ranks of its ASCII neighbours, then its primary weight
//! ```
//!
//! Primary weights are ICU's (CLDR root order, characters of today's Unicode); none is a prefix of another, so they
//! need no terminator. What differs from MySQL: weights are per character, so the algorithm's contractions (Thai and
//! Lao vowels written before their consonant, some Indic conjuncts) do not take effect; symbols outside ASCII stand
//! where CLDR puts them; characters newer than Unicode 9 have real weights.

use icu_collator::{
    Collator, CollatorBorrowed,
    options::{AlternateHandling, CollatorOptions, Strength},
};
use icu_normalizer::DecomposingNormalizerBorrowed;
use std::{cmp::Ordering, sync::OnceLock};

/// ASCII in the algorithm's order; letters stand for both cases.
const ORDER: &[u8] = b"\t\n\x0B\x0C\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";

/// Rank of each ASCII character; 0: weighs nothing.
const RANK: [u8; 128] = {
    let mut rank = [0; 128];
    let mut i = 0;
    while i < ORDER.len() {
        rank[ORDER[i] as usize] = 2 * (i as u8 + 1);
        rank[ORDER[i].to_ascii_uppercase() as usize] = 2 * (i as u8 + 1);
        i += 1;
    }
    rank
};

/// Blocks of 256 characters.
const PAGES: usize = 0x11_0000 / 256;

/// Weights of 256 characters: those of character i are `bytes[ends[i]..ends[i + 1]]`.
struct Page {
    ends: [u16; 257],
    bytes: Vec<u8>,
}

static WEIGHTS: [OnceLock<Box<Page>>; PAGES] = [const { OnceLock::new() }; PAGES];

/// The bytes that a character adds to the sort key.
pub(super) fn weight(c: char) -> &'static [u8] {
    let code = c as usize;
    let page = WEIGHTS[code >> 8].get_or_init(|| Box::new(Page::compute((code >> 8) as u32)));
    let i = code & 0xFF;
    &page.bytes[page.ends[i] as usize..page.ends[i + 1] as usize]
}

impl Page {
    fn compute(number: u32) -> Page {
        let root = Root::get();
        let mut page = Page { ends: [0; 257], bytes: Vec::new() };
        for low in 0..256 {
            if let Some(c) = char::from_u32(number << 8 | low) {
                root.append_weight(c, &mut page.bytes);
            }
            page.ends[low as usize + 1] = u16::try_from(page.bytes.len()).expect("256 weights are short");
        }
        page
    }
}

/// The collator weights are taken from.
struct Root {
    collator: CollatorBorrowed<'static>,
    /// Primary weight of each character of [`ORDER`].
    ascii: Vec<Vec<u8>>,
}

impl Root {
    fn get() -> &'static Root {
        static ROOT: OnceLock<Root> = OnceLock::new();
        ROOT.get_or_init(|| {
            let mut options = CollatorOptions::default();
            options.strength = Some(Strength::Primary);
            options.alternate_handling = Some(AlternateHandling::NonIgnorable);
            let collator = Collator::try_new(Default::default(), options).expect("the root collation is compiled in");
            let ascii = ORDER.iter().map(|b| primary(&collator, &(*b as char).to_string())).collect();
            Root { collator, ascii }
        })
    }

    fn append_weight(&self, c: char, out: &mut Vec<u8>) {
        if c.is_ascii() {
            out.extend(Some(RANK[c as usize]).filter(|r| *r != 0));
            return;
        }
        let text = c.to_string();
        let key = primary(&self.collator, &text);
        let parts = DecomposingNormalizerBorrowed::new_nfkd().normalize(&text);
        if parts != text && primary(&self.collator, &parts) == key {
            for part in parts.chars() {
                self.append_key(&primary(&self.collator, part.encode_utf8(&mut [0; 4])), out);
            }
        } else {
            self.append_key(&key, out);
        }
    }

    /// Turns primary weights into ranks as far as they are those of ASCII characters; the rest follows an escape.
    fn append_key(&self, key: &[u8], out: &mut Vec<u8>) {
        let mut rest = key;
        while !rest.is_empty() {
            match self.ascii.iter().position(|w| rest.starts_with(w)) {
                Some(i) => {
                    out.push(2 * (i as u8 + 1));
                    rest = &rest[self.ascii[i].len()..];
                }
                None => {
                    let below = self.ascii.iter().filter(|w| w.as_slice() < rest).count();
                    out.push(2 * below as u8 + 1);
                    out.extend_from_slice(rest);
                    return;
                }
            }
        }
    }
}

fn primary(collator: &CollatorBorrowed<'_>, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    let Ok(()) = collator.write_sort_key_to(text, &mut key);
    key
}

pub(super) fn append_sort_key(text: &str, out: &mut Vec<u8>) {
    if text.is_ascii() {
        let start = out.len();
        out.extend(text.bytes().map(|b| RANK[b as usize & 0x7F]));
        if memchr::memchr(0, &out[start..]).is_some() {
            let kept: Vec<u8> = out.drain(start..).filter(|r| *r != 0).collect();
            out.extend(kept);
        }
    } else {
        out.extend(KeyBytes::new(text));
    }
}

/// The bytes of a text's sort key, made one by one.
struct KeyBytes<'a> {
    text: &'a str,
    at: usize,
    pending: &'static [u8],
}

impl<'a> KeyBytes<'a> {
    fn new(text: &'a str) -> KeyBytes<'a> {
        KeyBytes { text, at: 0, pending: &[] }
    }
}

impl Iterator for KeyBytes<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        loop {
            if let Some((first, rest)) = self.pending.split_first() {
                self.pending = rest;
                return Some(*first);
            }
            let byte = *self.text.as_bytes().get(self.at)?;
            if byte < 0x80 {
                self.at += 1;
                match RANK[byte as usize] {
                    0 => continue,
                    rank => return Some(rank),
                }
            }
            let c = self.text[self.at..].chars().next()?;
            self.at += c.len_utf8();
            self.pending = weight(c);
        }
    }
}

pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let same = super::common_prefix(a, b);
    KeyBytes::new(&a[same..]).cmp(KeyBytes::new(&b[same..]))
}
