use super::*;
use proptest::prelude::*;

fn options(memory_bytes: usize, directory: &tempfile::TempDir) -> SortOptions {
    SortOptions { memory_bytes, temp_dir: directory.path().to_path_buf(), progress: Arc::default() }
}

/// Sorts records whose payload is their number; compares with a stable sort in memory. Says how many runs were made.
fn check(keys: &[Vec<u8>], memory_bytes: usize, payload_bytes: usize) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(options(memory_bytes, &directory));
    for (i, key) in keys.iter().enumerate() {
        let mut payload = (i as u32).to_le_bytes().to_vec();
        payload.resize(4 + payload_bytes, i as u8);
        sorter.push(key, &payload).unwrap();
    }
    let runs = sorter.runs.len();
    let mut want: Vec<usize> = (0..keys.len()).collect();
    want.sort_by_key(|&i| &keys[i]);
    let mut sorted = sorter.finish().unwrap();
    let mut got = Vec::new();
    loop {
        let block = sorted.next_block(100).unwrap();
        if block.is_empty() {
            break;
        }
        for record in block {
            let i = u32::from_le_bytes(record.payload[..4].try_into().unwrap()) as usize;
            assert_eq!(record.key, keys[i]);
            assert_eq!(record.payload.len(), 4 + payload_bytes);
            got.push(i);
        }
    }
    assert_eq!(got, want);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    runs
}

fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    // Few byte values and short keys, so that keys are often equal or prefixes of each other, or zero-padded alike.
    let key = prop::collection::vec(prop::sample::select(vec![0u8, 1, 255]), 0..12);
    prop::collection::vec(key, 0..2000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn sorts_like_a_stable_sort(keys in keys(), memory in 0usize..40_000) {
        check(&keys, memory, 3);
    }
}

#[test]
fn many_runs_take_several_passes() {
    let mut x = 1u64;
    let keys: Vec<_> = (0..3000)
        .map(|_| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (x >> 40).to_be_bytes().to_vec()
        })
        .collect();
    // A budget of a few records: hundreds of runs, fan-in 2.
    assert!(check(&keys, 500, 20) > 300);
    assert_eq!(options(500, &tempfile::tempdir().unwrap()).fan_in(), 2);
}

#[test]
fn records_larger_than_the_budget_pass() {
    let keys: Vec<_> = (0..20u8).rev().map(|i| vec![i]).collect();
    check(&keys, 1000, 50_000);
}

#[test]
fn sorted_input_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(options(1 << 20, &directory));
    for i in 0..1000u32 {
        sorter.push(&(i / 3).to_be_bytes(), b"").unwrap();
    }
    assert!(sorter.memory.sorted);
    sorter.push(&[0], b"").unwrap();
    assert!(!sorter.memory.sorted);
}

#[test]
fn cancelling_stops_it() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(1000, &directory);
    let mut sorter = Sorter::new(options.clone());
    sorter.push(b"a", b"").unwrap();
    options.progress.cancelled.store(true, Relaxed);
    assert!(matches!(sorter.finish().unwrap().next_block(1), Err(StorageError::Interrupted)));
}
