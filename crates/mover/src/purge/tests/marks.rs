//! Clearing between the high and the low mark of a full source.

use super::*;

#[test]
fn clearing_begins_above_the_high_mark_and_ends_at_the_low_one() {
    let marks = Marks { high_permille: 800, low_permille: 500 };
    let filled: Vec<_> = [500, 800, 801, 600, 501, 500, 501, 800]
        .into_iter()
        .scan(false, |filled, used| {
            *filled = is_filled(*filled, used, marks);
            Some(*filled)
        })
        .collect();
    assert_eq!(filled, [false, false, true, true, true, false, false, false]);
    assert_eq!((used_permille(100, 50, 50), used_permille(100, 20, 0), used_permille(0, 0, 0)), (500, 1000, 0));
}

#[test]
fn below_the_high_mark_nothing_goes_and_above_it_the_oldest_go_first() {
    let mut place = Fixture::new();
    place.done("f", "x");
    place.options.clear = Clear::HighWater;
    place.options.marks = Some(Marks { high_permille: 1000, low_permille: 999 });
    place.clear();
    assert!(place.text("f").is_some());
    place.options.marks = Some(Marks { high_permille: 0, low_permille: 0 });
    place.clear();
    assert!(place.text("f").is_none());
}

#[test]
fn a_pass_that_left_something_rests_until_more_is_done() {
    let place = Fixture::new();
    place.done("f", "x");
    let writer = OpenOptions::new().append(true).open(place.from_path.join("f")).unwrap();
    let mut purger = place.purger();
    while purger.step().unwrap() {}
    drop(writer);
    place.closed("f");
    assert!(!purger.step().unwrap() && place.text("f").is_some(), "it rests");
    place.done("g", "x");
    while purger.step().unwrap() {}
    assert!(place.text("f").is_none() && place.text("g").is_none());
}
