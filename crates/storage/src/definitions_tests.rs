use super::*;
use crate::testing::random::Random;

const KIND: FileKind = FileKind { magic: *b"MUSTTEST", version: 3 };

fn definitions(values: &[(&str, &str)]) -> Definitions {
    let values = values.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().into()));
    Definitions { kind: KIND, values: values.collect() }
}

fn changes(values: &[(&str, Option<&str>)]) -> DefinitionChanges {
    let values = values.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.map(|v| v.as_bytes().into())));
    DefinitionChanges { values: values.collect() }
}

#[test]
fn a_change_sets_and_removes_values_by_key() {
    let before = definitions(&[("a", "1"), ("b", ""), ("c", "3")]);
    let change = changes(&[("a", None), ("b", Some("2")), ("d", Some("")), ("e", None)]);
    let read = DefinitionChanges::from_bytes(&change.to_bytes()).unwrap();
    assert_eq!(read, change);
    let after = changed(&before.to_bytes(), read.values).unwrap();
    let wanted = definitions(&[("b", "2"), ("c", "3"), ("d", "")]);
    assert_eq!(Definitions::from_bytes(&after, KIND).unwrap(), wanted);
    assert_eq!(changed(&after, change.values).unwrap(), after, "once more it changes nothing");
}

/// Changes from any position on, made on a file that has some of them, lead to the content that all of them lead to.
#[test]
fn changes_may_be_repeated_on_a_newer_file() {
    let mut random = Random(3);
    for _ in 0..200 {
        let draw = |random: &mut Random| {
            let mut change = DefinitionChanges::default();
            for _ in 0..1 + random.below_u64(3) {
                let key = vec![random.below_u64(6) as u8];
                match random.below_u64(3) {
                    0 => change.remove(key),
                    _ => change.set(key, vec![random.below_u64(256) as u8]),
                }
            }
            change
        };
        let history: Vec<_> = (0..8).map(|_| draw(&mut random)).collect();
        let all = |from: Vec<u8>, changes: &[DefinitionChanges]| {
            changes.iter().fold(from, |bytes, change| changed(&bytes, change.values.clone()).unwrap())
        };
        let empty = definitions(&[]).to_bytes();
        let wanted = all(empty.clone(), &history);
        let newer = random.below_u64(9) as usize;
        let repeated = random.below_u64(1 + newer as u64) as usize;
        assert_eq!(all(all(empty, &history[..newer]), &history[repeated..]), wanted);
    }
}

#[test]
fn every_flipped_bit_of_a_file_is_found() {
    let good = definitions(&[("a", "1"), ("bb", "22")]).to_bytes();
    for bit in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(Definitions::from_bytes(&bad, KIND).is_err(), "bit {bit}");
    }
    for bytes in 0..good.len() {
        assert!(Definitions::from_bytes(&good[..bytes], KIND).is_err(), "{bytes} bytes");
        assert!(changed(&good[..bytes], []).is_err(), "{bytes} bytes");
    }
}

/// A change is read to its end before anybody makes it, so nothing of an impossible one is made.
#[test]
fn impossible_changes_are_refused() {
    let good = changes(&[("a", Some("1")), ("b", None), ("c", Some("22"))]).to_bytes();
    let ends = [0, 8, 15, good.len()];
    for bytes in 0..=good.len() {
        assert_eq!(DefinitionChanges::from_bytes(&good[..bytes]).is_ok(), ends.contains(&bytes), "{bytes} bytes");
    }
    let twice = [&good[..8], &good[..8]].concat();
    assert!(DefinitionChanges::from_bytes(&twice).is_err(), "a key comes twice");
    let removed = checked_file::seal(KIND, &good);
    assert!(Definitions::from_bytes(&removed, KIND).is_err(), "a file has no removals");
}
