use super::*;

#[test]
fn building_is_two_to_three_times_probing() {
    let m = CostModel::default();
    for rows in [1e3, 1e5, 1e7] {
        let ratio = m.by_size(m.build_cached_ns, m.build_ns, rows) / m.by_size(m.probe_cached_ns, m.probe_ns, rows);
        assert!((2.0..=3.0).contains(&ratio), "{rows}: {ratio}");
    }
}

#[test]
fn fetching_a_few_percent_loses_against_a_scan() {
    let table = 6e6;
    let tree = Tree { entries: table, leaf_pages: table / 150.0, resident_share: 1.0, spread: Spread::default() };
    let fetch = |rows: f64| CostModel::default().fetches(&tree, rows, 1.0).total_ms();
    let scan_ms = CostModel::default().clustered_scan(table, 4, 2.0).total_ms();
    assert!(fetch(table * 0.05) > scan_ms && fetch(table * 0.0005) < scan_ms);
}

#[test]
fn reads_that_wait_for_each_other_cost_most() {
    let tree = Tree { entries: 6e6, leaf_pages: 4e4, resident_share: 0.1, spread: Spread::default() };
    let model = CostModel::default();
    let (one_by_one, together) = (model.single_lookups(&tree, 1e4, 1e4), model.lookups(&tree, 1e4, 1e4, 1.0));
    assert!(one_by_one.total_ms() > 3.0 * together.total_ms());
    assert!(model.lookups(&tree, 6e6, 6e6, 1.0).total_ms() > model.sequential_reads(&tree, 6e6).total_ms());
    // Every other leaf: half of what is read comes in runs.
    let reads = |keys| model.lookups(&tree, keys, keys, 1.0).io_ms;
    assert_eq!(model.lookups(&Tree { resident_share: 1.0, ..tree }, 1e3, 1e3, 1.0).io_ms, 0.0);
    let half = 4e4 * std::f64::consts::LN_2;
    assert!(reads(half) < 0.8 * reads(1e3) / 1e3 * 2e4, "{} {}", reads(half), reads(1e3));
}

#[test]
fn rows_of_a_correlated_index_are_in_few_leaves() {
    let model = CostModel::default();
    let tree = Tree { entries: 6e6, leaf_pages: 4e4, resident_share: 0.0, spread: Spread::default() };
    let fetches_ms = |correlation| model.fetches(&tree.reached_by(correlation, 1), 6e3, 1.0).io_ms;
    assert_eq!(fetches_ms(None), fetches_ms(Some(0.0)));
    assert_eq!(fetches_ms(Some(-1.0)), fetches_ms(Some(1.0)));
    assert!(fetches_ms(Some(1.0)) < 0.02 * fetches_ms(None));
    assert!(fetches_ms(Some(0.5)) > 0.7 * fetches_ms(None) && fetches_ms(Some(0.5)) < 0.8 * fetches_ms(None));
    // Rows of many ranges are near to each other in each of them only.
    let of_ranges = |count| model.fetches(&tree.reached_by(Some(1.0), count), 6e3, 1.0).io_ms;
    assert!(of_ranges(6000) == fetches_ms(None) && of_ranges(60) < 0.1 * fetches_ms(None));
}

#[test]
fn larger_pages_take_longer_to_transfer() {
    let (model, default) = (CostModel::default().for_pages_of(64 << 10), CostModel::default());
    assert_eq!(CostModel::default().for_pages_of(16 << 10), default);
    assert_eq!(model.sequential_read_ms, 4.0 * default.sequential_read_ms);
    assert_eq!(model.single_read_ms, default.single_read_ms + 3.0 * default.sequential_read_ms);
    let small = CostModel::default().for_pages_of(4 << 10);
    assert!(small.sequential_read_ms < 0.3 * default.sequential_read_ms && small.sequential_read_ms > 0.0);
    let measured = CostModel { queued_read_ms: 0.02, ..default }.for_pages_of(64 << 10);
    assert_eq!((measured.queued_read_ms, measured.single_read_ms), (0.02, model.single_read_ms));
    assert!(small.single_read_ms > 0.9 * default.single_read_ms && small.single_read_ms < default.single_read_ms);
}

#[test]
fn rows_that_do_not_fit_into_memory_go_to_files() {
    let small = CostModel { limits: Limits { memory_bytes: 1e6, ..Limits::default() }, ..CostModel::default() };
    let default = CostModel::default();
    // 1,000 rows of ten columns fit, 100,000 do not; of one column 50,000 do.
    assert_eq!(small.sort(1e3, None, 10), default.sort(1e3, None, 10));
    assert!(small.sort(1e5, None, 10).io_ms > 0.0 && default.sort(1e5, None, 10).io_ms == 0.0);
    assert_eq!(small.sort(5e4, None, 1), default.sort(5e4, None, 1));
    assert_eq!(small.sort(1e6, Some(10), 10), default.sort(1e6, Some(10), 10));
    assert!(small.hash_aggregate(1e6, 1e6, 1, 2).io_ms > 0.0);
    assert_eq!(small.hash_aggregate(1e6, 100.0, 1, 2), default.hash_aggregate(1e6, 100.0, 1, 2));
    // The side that fits is built, though it has more rows.
    let (narrow, wide) = (JoinInput { rows: 6e4, columns: 1 }, JoinInput { rows: 4e4, columns: 12 });
    assert_eq!(default.hash_join(narrow, wide, 1.0).0, Side::Right);
    assert_eq!(small.hash_join(narrow, wide, 1.0).0, Side::Left);
}

#[test]
fn wide_rows_take_longer_to_keep() {
    let model = CostModel::default();
    assert!(model.sort(1e6, None, 50).total_ms() > 1.1 * model.sort(1e6, None, 1).total_ms());
    assert!(model.hash_aggregate(1e6, 1e6, 50, 1).total_ms() > 1.1 * model.hash_aggregate(1e6, 1e6, 1, 1).total_ms());
    // Rows that a LIMIT drops are not moved.
    let (wide, narrow) = (model.sort(1e6, Some(10), 50), model.sort(1e6, Some(10), 1));
    assert!(wide.total_ms() < 1.001 * narrow.total_ms());
    // Of two inputs alike in rows the narrow one is built.
    let (narrow, wide) = (JoinInput { rows: 5e4, columns: 1 }, JoinInput { rows: 5e4, columns: 20 });
    assert_eq!(model.hash_join(narrow, wide, 1.0).0, Side::Left);
    assert_eq!(model.hash_join(wide, narrow, 1.0).0, Side::Right);
}

#[test]
fn constants_are_set_by_the_names_they_are_shown_under() {
    let mut model = CostModel::default();
    for constant in CostModel::default().constants() {
        assert!(model.set(constant.name, constant.value * 2.0) && !constant.origin.is_empty());
        assert!(["ns", "ms", "factor", "rows"].iter().any(|unit| constant.name.ends_with(unit)), "{}", constant.name);
    }
    let doubled = CostModel::default().constants().into_iter().map(|c| c.value * 2.0);
    assert!(model.constants().into_iter().map(|c| c.value).eq(doubled));
    assert!(!model.set("no_such_constant", 1.0));
}

#[test]
fn each_pass_of_a_small_buffer_visits_leaves_again() {
    let tree = Tree { entries: 6e6, leaf_pages: 4e4, resident_share: 0.2, spread: Spread::default() };
    let model = |join_buffer_bytes, mrr_buffer_bytes| CostModel {
        limits: Limits { join_buffer_bytes, mrr_buffer_bytes, ..Limits::default() },
        ..CostModel::default()
    };
    let outer = JoinInput { rows: 1e6, columns: 4 };
    assert_eq!(CostModel::default().join_buffer_passes(outer), 1.0);
    assert_eq!(model(1e6, 1e6).join_buffer_passes(outer), 64.0);
    let lookups = |passes| CostModel::default().lookups(&tree, 1e6, 1e6, passes);
    assert!(lookups(64.0).io_ms > 10.0 * lookups(1.0).io_ms && lookups(64.0).cpu_ms > 2.0 * lookups(1.0).cpu_ms);
    // No more leaves than keys.
    assert!(lookups(1e6).total_ms() < 1.01 * CostModel::default().single_lookups(&tree, 1e6, 1e6).total_ms());
    let fetches = |bytes| model(1e6, bytes).fetches(&tree, 1e6, 1.0);
    assert_eq!(fetches(32e6), CostModel::default().fetches(&tree, 1e6, 1.0));
    assert_eq!(fetches(16e6 / 64.0), CostModel::default().fetches(&tree, 1e6, 64.0));
}

#[test]
fn threads_share_what_can_be_divided() {
    let of = |threads| CostModel { limits: Limits { threads, ..Limits::default() }, ..CostModel::default() };
    let scan_ms = |threads| of(threads).clustered_scan(1e6, 4, 1.0).total_ms();
    assert_eq!(scan_ms(1.0), 2.0 * scan_ms(2.0));
    assert_eq!(scan_ms(8.0), 0.25 * scan_ms(2.0));
    assert_eq!(of(1.0).merge_join(1e6, 1e6, 1e6), of(8.0).merge_join(1e6, 1e6, 1e6));
    // One stream takes as long whatever the number of threads that it does not use.
    let ordered_ms = |threads| scan_ms(threads) * of(threads).one_stream();
    assert_eq!(ordered_ms(8.0), ordered_ms(2.0));
    assert_eq!(ordered_ms(1.0), scan_ms(1.0));
}
