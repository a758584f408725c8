//! The states of dirty pages, by themselves, against a model that knows what is durable.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn a_page_changed_since_its_copy_keeps_its_older_position_until_the_copy_is_durable() {
    let (pages, state) = (DirtyPages::default(), PageState::default());
    assert!(pages.mark(5, &state, || 10));
    assert!(!pages.mark(5, &state, || 20), "only the first change counts");
    assert!(pages.begin(&state));
    pages.mark(5, &state, || 30);
    pages.mark(5, &state, || 40);
    assert_eq!((pages.least(), pages.count()), (Some(10), 1));
    assert!(!pages.finish(5, &state, true));
    assert_eq!((pages.least(), pages.count(), state.is_clean()), (Some(30), 1, false));
    assert!(pages.begin(&state));
    pages.mark(5, &state, || 50);
    assert!(!pages.finish(5, &state, false));
    assert_eq!(pages.least(), Some(30), "the copy with the change at 30 is not durable");
    assert!(pages.begin(&state));
    assert!(pages.finish(5, &state, true));
    assert_eq!((pages.least(), pages.count(), state.is_clean()), (None, 0, true));
    assert!(!pages.begin(&state), "a clean page is not written");
}

#[test]
fn a_frame_that_has_another_page_meanwhile_is_left_alone() {
    let (pages, state) = (DirtyPages::default(), PageState::default());
    pages.mark(5, &state, || 10);
    assert!(pages.begin(&state));
    pages.forget(5, &state);
    assert!(!pages.finish(5, &state, true));
    assert_eq!(pages.count(), 0);
    pages.mark(5, &state, || 20);
    assert!(!pages.finish(5, &state, true), "the copy was of the page before");
    assert_eq!((pages.least(), pages.count()), (Some(20), 1));
}

#[test]
fn the_oldest_come_first_whatever_their_frames() {
    let pages = DirtyPages::default();
    let states: Vec<PageState> = (0..100).map(|_| PageState::default()).collect();
    for (frame, state) in states.iter().enumerate() {
        pages.mark(frame as u32, state, || 1000 - 7 * frame as u64);
    }
    let oldest: Vec<u32> = pages.oldest(3).into_iter().map(|(_, frame)| frame).collect();
    assert_eq!((oldest, pages.oldest(1000).len(), pages.least()), (vec![99, 98, 97], 100, Some(307)));
    assert_eq!((pages.recovery_lsn(99), pages.recovery_lsn(100)), (Some(307), None));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Change(u32),
    Copy(u32),
    /// All copies under way are durable, or none is.
    Finish(bool),
    Forget(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let page = || 0..6u32;
    prop_oneof![
        6 => page().prop_map(Step::Change),
        4 => page().prop_map(Step::Copy),
        3 => any::<bool>().prop_map(Step::Finish),
        1 => page().prop_map(Step::Forget),
    ]
}

/// The state of a page between changes and disk: the positions of its changes that are not durable, and how many of
/// them the copy has.
#[derive(Default)]
struct Model {
    changes: Vec<u64>,
    copied: Option<usize>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A page is clean exactly if all its changes are durable, and its position is that of the first that is not.
    #[test]
    fn positions_are_those_of_the_first_change_that_is_not_durable(steps in prop::collection::vec(step(), 1..80)) {
        let pages = DirtyPages::default();
        let states: Vec<PageState> = (0..6).map(|_| PageState::default()).collect();
        let mut models: BTreeMap<u32, Model> = (0..6).map(|page| (page, Model::default())).collect();
        for (now, step) in steps.into_iter().enumerate() {
            let lsn = now as u64 + 1;
            match step {
                Step::Change(page) => {
                    pages.mark(page, &states[page as usize], || lsn);
                    models.get_mut(&page).unwrap().changes.push(lsn);
                }
                Step::Copy(page) => {
                    let model = models.get_mut(&page).unwrap();
                    let begun = pages.begin(&states[page as usize]);
                    prop_assert_eq!(begun, model.copied.is_none() && !model.changes.is_empty());
                    if begun {
                        model.copied = Some(model.changes.len());
                    }
                }
                Step::Finish(durable) => for (page, model) in &mut models {
                    if let Some(copied) = model.copied.take() {
                        model.changes.drain(..if durable { copied } else { 0 });
                        let clean = pages.finish(*page, &states[*page as usize], durable);
                        prop_assert_eq!(clean, model.changes.is_empty());
                    }
                },
                Step::Forget(page) => {
                    pages.forget(page, &states[page as usize]);
                    models.insert(page, Model::default());
                }
            }
            for (page, model) in &models {
                prop_assert_eq!(states[*page as usize].is_clean(), model.changes.is_empty());
                prop_assert_eq!(pages.recovery_lsn(*page), model.changes.first().copied());
            }
            let firsts = models.values().filter_map(|model| model.changes.first());
            prop_assert_eq!((pages.least(), pages.count()), (firsts.clone().min().copied(), firsts.count()));
        }
    }
}
