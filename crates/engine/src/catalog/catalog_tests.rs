use super::{definitions::CatalogChange, *};
use muster_algebra::{TableDef, TableId};
use muster_storage::{FileId, StoreOptions, io::simulated::SimulatedDisk};
use muster_types::Collation;

fn entry(database: &str, name: &str, files: &[u32]) -> Arc<TableEntry> {
    let def = TableDef {
        id: TableId(1),
        database: database.into(),
        name: name.into(),
        columns: Vec::new(),
        indexes: Vec::new(),
        collation: Collation::DEFAULT,
        comment: String::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let files = files.iter().map(|file| FileId(*file)).collect();
    let (extras, layouts) = (TableExtras::default(), Arc::default());
    Arc::new(TableEntry { def: Arc::new(def), extras, files, next_index_id: 1, created: 7, layouts })
}

fn schema(collation: Collation) -> Schema {
    Schema::new(collation)
}

fn keys(change: &CatalogChange) -> Vec<(String, bool)> {
    let values = change.values.values.iter();
    values.map(|(key, value)| (String::from_utf8_lossy(key).replace('\0', "."), value.is_some())).collect()
}

/// A change says what differs and nothing else, and names the files that no table has any more.
#[test]
fn a_change_has_the_definitions_that_differ() {
    let mut before = Snapshot::default();
    before.next_table_id = 4;
    for name in ["a", "b"] {
        before.schemas.insert(name.into(), schema(Collation::DEFAULT));
        for (table, file) in [("t", 1), ("u", 2), ("w", 3)] {
            let file = file + if name == "b" { 10 } else { 0 };
            let tables = &mut before.schema_mut(name).unwrap().tables;
            tables.insert(table.into(), entry(name, table, &[file, 100 + file]));
        }
    }
    let mut after = before.clone();
    let tables = &mut after.schema_mut("a").unwrap().tables;
    let renamed = tables.remove("t").unwrap();
    tables.insert("v".into(), entry("a", "v", &[renamed.files[0].0, renamed.files[1].0]));
    tables.insert("u".into(), entry("a", "u", &[2, 200]));
    after.schemas.remove("b");
    after.schemas.insert("c".into(), schema(Collation::Binary));
    let change = CatalogChange::between(&before, &after).unwrap();
    let wanted = [
        ("da", None),
        ("db", Some(false)),
        ("dc", Some(true)),
        ("n", None),
        ("ta.t", Some(false)),
        ("ta.u", Some(true)),
        ("ta.v", Some(true)),
        ("ta.w", None),
        ("tb.t", Some(false)),
        ("tb.u", Some(false)),
        ("tb.w", Some(false)),
    ];
    let wanted: Vec<_> = wanted.iter().filter_map(|(key, is_set)| Some(((*key).to_string(), (*is_set)?))).collect();
    assert_eq!(keys(&change), wanted);
    let mut removed: Vec<u32> = change.removed.iter().map(|file| file.0).collect();
    removed.sort_unstable();
    assert_eq!(removed, [11, 12, 13, 102, 111, 112, 113]);
    let same = CatalogChange::between(&after, &after.clone()).unwrap();
    assert!(same.values.is_empty() && same.removed.is_empty());
}

/// What a catalog has after any changes is read from its file again, whether the file has been written since or not.
#[test]
fn changes_are_read_back() {
    let disk = Arc::new(SimulatedDisk::new());
    let open = || Store::open_on(Path::new("/d"), StoreOptions::default(), Arc::clone(&disk) as _).unwrap();
    let store = open();
    let catalog = Catalog::create(&store).unwrap();
    let seen = |catalog: &Catalog| {
        let snapshot = catalog.snapshot();
        let tables: Vec<TableEntry> = snapshot.tables().map(|table| TableEntry::clone(table)).collect();
        let names: Vec<String> = snapshot.schemas.keys().cloned().collect();
        (snapshot.next_table_id, names, tables)
    };
    for step in 0..40_u32 {
        let database = format!("d{}", step % 3);
        let change = |next: &mut Snapshot| {
            next.next_table_id();
            if step % 13 == 12 {
                next.schemas.remove(&database);
                return Ok(());
            }
            let schema = next.schemas.entry(database.clone()).or_insert_with(|| schema(Collation::DEFAULT));
            let name = format!("t{}", step % 5);
            match schema.tables.remove(&name) {
                Some(_) if step % 2 == 0 => {}
                _ => drop(schema.tables.insert(name.clone(), entry(&database, &name, &[step]))),
            }
            Ok(())
        };
        catalog.change(change).unwrap();
        if step % 7 == 0 {
            store.checkpoint().unwrap();
        }
        let (read, _) = Catalog::read(&store).unwrap().unwrap();
        assert_eq!(seen(&read), seen(&catalog), "step {step}");
        // The size is kept by what comes and goes.
        assert_eq!(read.file_bytes(), catalog.file_bytes(), "step {step}");
    }
    let wanted = seen(&catalog);
    drop((catalog, store));
    assert_eq!(seen(&Catalog::read(&open()).unwrap().unwrap().0), wanted);
}
