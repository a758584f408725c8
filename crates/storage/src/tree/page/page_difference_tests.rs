use super::*;
use proptest::{collection::vec, prelude::*};

const SIZE: usize = 4096;

/// A page with texts of digits from a byte on, and zeros behind them.
fn texts(from: usize, seeds: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut page = vec![0; SIZE];
    let mut at = from;
    for seed in seeds {
        let text: String =
            (0..6u64).map(|i| format!("{:011}-", (seed * 7 + i + 1) * 15_485_863 % 99_999_999_977)).collect();
        page[at..at + text.len()].copy_from_slice(text.as_bytes());
        at += text.len();
    }
    page
}

#[test]
fn rows_that_move_take_little() {
    let before = texts(100, 0..40);
    // Row 7 is changed, and what was behind it moves.
    let after = texts(93, (0..7).chain([500]).chain(8..40));
    let told = difference(&before, &after, SIZE / 2).unwrap();
    assert!(told.len() < 64 + 72 + 3 * PIECE + BLOCK * 2, "{}", told.len());
    assert_eq!(patched(&before, &told).unwrap(), after);
}

#[test]
fn pages_with_nothing_in_common_are_not_told() {
    let (before, after) = (texts(64, 0..50), texts(64, 1000..1050));
    assert_eq!(difference(&before, &after, SIZE / 2), None);
    assert_eq!(difference(&before, &vec![0; SIZE], SIZE / 2).map(|told| told.len()), Some(64 + 2 * PIECE));
}

#[test]
fn the_header_of_the_page_before_does_not_count() {
    let after = texts(0, 0..50);
    let (mut before, mut other) = (after.clone(), after.clone());
    before[..64].fill(1);
    other[..64].fill(2);
    let told = difference(&before, &after, SIZE / 2).unwrap();
    assert_eq!(patched(&other, &told).unwrap(), after);
}

#[test]
fn the_largest_pages_are_told() {
    let before: Vec<u8> = (0..1 << 16).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut after = before.clone();
    after[40_000] ^= 1;
    let told = difference(&before, &after, 1 << 15).unwrap();
    assert_eq!(patched(&before, &told).unwrap(), after);
    let zeros = vec![0; 1 << 16];
    assert_eq!(patched(&before, &difference(&before, &zeros, 1 << 15).unwrap()).unwrap(), zeros);
}

proptest! {
    #[test]
    fn what_is_told_is_made_again(
        before in vec(0u8..3, SIZE),
        cuts in vec((0..SIZE, 0..SIZE, 0usize..300), 0..20),
        own in vec((0..SIZE, any::<u8>()), 0..40),
    ) {
        let mut after = before.clone();
        for (from, to, length) in cuts {
            let length = length.min(SIZE - from.max(to));
            after[to..to + length].copy_from_slice(&before[from..from + length]);
        }
        own.into_iter().for_each(|(at, byte)| after[at] = byte);
        if let Some(told) = difference(&before, &after, SIZE) {
            prop_assert_eq!(patched(&before, &told).unwrap(), after);
        }
    }

    #[test]
    fn pieces_that_are_damaged_are_refused(before in vec(any::<u8>(), SIZE), pieces in vec(any::<u8>(), 0..200)) {
        if let Ok(page) = patched(&before, &pieces) {
            prop_assert_eq!(page.len(), SIZE);
        }
    }
}
