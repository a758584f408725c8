//! Data directories: new, locked, foreign, newer, and what stays in them.

use super::*;
use crate::{
    ColumnSchema, IndexSchema,
    file::Companion,
    page::{PAGE_HEADER, PageType},
    rows::fixtures::number_schema,
    tree::page::leaf::Leaf,
};
use muster_types::{KeyPart, SqlType, Value};
use std::fs;

fn options(page_size: usize) -> StoreOptions {
    StoreOptions { page_size, buffer_pool_bytes: 1 << 20, ..StoreOptions::default() }
}

fn open(directory: &Path) -> Result<Arc<Store>> {
    Store::open(directory, options(16384))
}

fn identity(directory: &Path) -> String {
    fs::read_to_string(directory.join("MUSTER")).unwrap()
}

#[test]
fn a_new_directory_is_made_and_opened_again() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a/b");
    let store = Store::open(&directory, options(8192)).unwrap();
    assert_eq!((store.page_size(), store.directory()), (8192, directory.as_path()));
    let file = store.new_file(5).unwrap();
    assert_eq!(file.id(), FileId(1));
    assert!(Arc::ptr_eq(&file, &store.open_file(FileId(1)).unwrap()), "one object per open file");
    let mut page = store.buffer_pool().new_page(&file, PageType::Leaf, store.counters()).unwrap();
    page[PAGE_HEADER] = 42;
    drop(page);
    store.buffer_pool().flush_file(&file, store.counters()).unwrap();
    drop((store, file));

    // The page size is the directory's, not the option's.
    let store = open(&directory).unwrap();
    assert_eq!(store.page_size(), 8192);
    let file = store.open_file(FileId(1)).unwrap();
    let page = store.buffer_pool().fetch(&file, 1, store.counters()).unwrap();
    assert_eq!((page[PAGE_HEADER], file.index_id()), (42, 5));
}

#[test]
fn a_directory_has_one_user() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    assert!(matches!(open(directory.path()), Err(StorageError::Locked { .. })));
    drop(store);
    open(directory.path()).unwrap();
}

#[test]
fn tables_and_transactions_keep_their_directory_open() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), StoreOptions { purges: false, ..options(8192) }).unwrap();
    let files = store.create_table(&number_schema()).unwrap();
    let table = store.open_table(number_schema(), files.clone(), TableStatistics::default()).unwrap();
    let mut trx = store.begin();
    drop(store);
    // A row and its end come into the log, and nobody else has the directory.
    table.insert(&mut trx, &[1, 2, 3].map(Value::Int), &Counters::default()).unwrap();
    drop(table);
    assert!(matches!(open(directory.path()), Err(StorageError::Locked { .. })), "a transaction keeps it open");
    let _ = trx.commit().unwrap();
    let store = open(directory.path()).unwrap();
    let table = store.open_table(number_schema(), files.clone(), TableStatistics::default()).unwrap();
    drop(store);
    assert!(matches!(open(directory.path()), Err(StorageError::Locked { .. })), "a table keeps it open");
    // The counts of its files are written before the directory is closed.
    drop(table);
    let store = open(directory.path()).unwrap();
    let table = store.open_table(number_schema(), files, TableStatistics::default()).unwrap();
    assert_eq!(table.row_count(), 1);
}

#[test]
fn other_peoples_directories_stay_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("thesis.tex"), "x").unwrap();
    assert!(matches!(open(directory.path()), Err(StorageError::Foreign { .. })));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    fs::write(directory.path().join("MUSTER"), "a cat, after all\n").unwrap();
    assert!(matches!(open(directory.path()), Err(StorageError::Foreign { .. })));
    fs::write(directory.path().join("MUSTER"), vec![b'x'; 10_000]).unwrap();
    assert!(matches!(open(directory.path()), Err(StorageError::Foreign { .. })));
}

#[test]
fn an_interrupted_creation_is_taken_up() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("LOCK"), "").unwrap();
    fs::write(directory.path().join("MUSTER.new"), "must").unwrap();
    open(directory.path()).unwrap();
}

#[test]
fn identities_of_other_formats_and_damaged_ones_are_told() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    let good = identity(directory.path());
    let write = |text: String| fs::write(directory.path().join("MUSTER"), text).unwrap();
    write(good.replace("format 3", "format 4\nsecret 7"));
    let e = open(directory.path()).map(drop).unwrap_err();
    assert!(matches!(e, StorageError::NewerFormat { found: 4, supported: 3, .. }), "{e}");
    write(good.replace("format 3", "format 2"));
    let e = open(directory.path()).map(drop).unwrap_err();
    assert!(e.to_string().contains("(format 2)") && e.to_string().contains("load the data again"), "{e}");
    for bad in [good.replace("16384", "16385"), good.replace("page_size", "pagesize"), good.replace("16384", "big")] {
        write(bad);
        assert!(matches!(open(directory.path()), Err(StorageError::Corrupt { .. })));
    }
    write(good);
    open(directory.path()).unwrap();
}

#[test]
fn page_sizes_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    for bad in [0, 1000, 2048, 12288, 131_072] {
        assert!(Store::open(&directory.path().join("d"), options(bad)).is_err());
    }
    assert!(!directory.path().join("d").exists());
}

#[test]
fn file_numbers_are_never_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut last = 0;
    for _ in 0..3 {
        let store = open(directory.path()).unwrap();
        for _ in 0..100 {
            let file = store.new_file(1).unwrap();
            assert!(file.id().0 > last);
            last = file.id().0;
            store.delete_file(&file).unwrap();
        }
    }
    // A backup brought a file with a higher number.
    let higher = file::file_path(directory.path(), FileId(5000));
    fs::write(&higher, "x").unwrap();
    let store = open(directory.path()).unwrap();
    assert_eq!(store.new_file(1).unwrap().id(), FileId(5001));
    let e = store.open_file(FileId(5000)).map(drop).unwrap_err();
    assert!(e.to_string().contains("cut short"), "{e}");
}

#[test]
fn unknown_table_files_are_removed_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let files: Vec<FileId> = (0..4).map(|_| store.new_file(1).unwrap().id()).collect();
    for name in ["catalog.json", "thesis.new", "thesis.tex.new"] {
        fs::write(directory.path().join(name), "{}").unwrap();
    }
    for (file, companion) in [(0, Companion::Statistics), (1, Companion::Statistics), (2, Companion::Counter)] {
        fs::write(companion.path(directory.path(), files[file]), "{}").unwrap();
    }
    for name in ["00000004.counter.new", "00000002.stats.new", "catalog.mus.new", "MUSTER.new"] {
        fs::write(directory.path().join(name), "{").unwrap();
    }
    store.remove_unknown_files(&files[1..3]).unwrap();
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let left = ["00000002.mus", "00000002.stats", "00000003.counter", "00000003.mus"];
    let kept = ["CHECKPOINT", "DOUBLEWRITE", "LOCK", "MUSTER", "catalog.json", "redo-0000000000.log"];
    assert_eq!(names, [&left[..], &kept, &["thesis.new", "thesis.tex.new"]].concat());
    let file = store.open_file(files[1]).unwrap();
    store.delete_file(&file).unwrap();
    assert!(!Companion::Statistics.path(directory.path(), files[1]).exists(), "it goes with its file");
}

#[test]
fn a_file_of_another_page_size_is_refused() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Store::open(a.path(), options(4096)).unwrap().new_file(1).unwrap();
    fs::copy(a.path().join("00000001.mus"), b.path().join("tmp")).unwrap();
    fs::create_dir(b.path().join("d")).unwrap();
    let store = open(&b.path().join("d")).unwrap();
    fs::rename(b.path().join("tmp"), b.path().join("d/00000001.mus")).unwrap();
    let e = store.open_file(FileId(1)).map(drop).unwrap_err();
    assert!(e.to_string().contains("pages of 4096 bytes, the directory has 16384"), "{e}");
}

#[test]
fn an_empty_table_has_a_leaf_per_index_and_a_failed_one_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let double = |nullable| ColumnSchema { ty: SqlType::Double, nullable };
    let index = |id, column| IndexSchema {
        id,
        parts: vec![KeyPart { column, prefix: None, descending: false }],
        unique: false,
    };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: vec![double(false), double(true)],
        indexes: vec![index(8, 0), index(9, 1)],
    };
    let files = store.create_table(&schema).unwrap();
    assert_eq!(files, [FileId(1), FileId(2)]);
    for (i, id) in files.into_iter().enumerate() {
        let file = store.open_file(id).unwrap();
        let h = file.header();
        assert_eq!((h.index_id, h.root, h.leaf_count, h.row_count), (schema.indexes[i].id, 1, 1, 0));
        let root = store.buffer_pool().fetch(&file, h.root, store.counters()).unwrap();
        assert!(Leaf::of(&root, &TreeLayout::new(&schema, i)).is_ok());
    }
    // The third file's name is taken.
    fs::write(file::file_path(directory.path(), FileId(4)), "x").unwrap();
    assert!(store.create_table(&schema).is_err());
    assert!(!file::file_path(directory.path(), FileId(3)).exists());
}
