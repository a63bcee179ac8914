use super::{Kind, Rows, RowsError, Value};

fn rows(text: &str) -> Rows {
    Rows::read(text.as_bytes()).expect("plain lines")
}

fn refused(text: &str) -> usize {
    match Rows::read(text.as_bytes()) {
        Err(RowsError::Line(line)) => line,
        other => panic!("{text:?} was read as {other:?}"),
    }
}

#[test]
fn every_kind_of_value_comes_back_as_it_was_written() {
    let rows = rows("{\"i\":-7,\"n\":null,\"b\":true,\"s\":\"a,\\\"}b\",\"o\":{\"x\":[1,2,{}]},\"f\":1.5, \"z\" : 0 }\n");
    assert_eq!(rows.get(0, "i"), Some(Value::Integer(-7)));
    assert_eq!(rows.get(0, "n"), Some(Value::Null));
    assert_eq!(rows.get(0, "b"), Some(Value::Bool(true)));
    assert_eq!(rows.get(0, "z"), Some(Value::Integer(0)));
    assert_eq!(rows.get(0, "missing"), None);
    for (key, text) in [("s", "\"a,\\\"}b\""), ("o", "{\"x\":[1,2,{}]}"), ("f", "1.5")] {
        assert!(matches!(rows.get(0, key), Some(Value::Text { json, .. }) if json == text), "{key}");
    }
    assert_eq!(rows.keys(0).iter().map(|key| &**key).collect::<Vec<_>>(), ["i", "n", "b", "s", "o", "f", "z"]);
}

#[test]
fn integers_keep_every_digit_at_the_ends_of_their_room() {
    let most = (1_i64 << 61) - 1;
    for number in [most, -most - 1, i64::MAX, i64::MIN] {
        let rows = rows(&format!("{{\"i\":{number}}}\n"));
        match rows.get(0, "i") {
            Some(Value::Integer(value)) => assert_eq!(value, number),
            Some(Value::Text { json, .. }) => assert_eq!(json, number.to_string()),
            other => panic!("{number} became {other:?}"),
        }
    }
}

#[test]
fn equal_texts_are_one_and_texts_that_never_come_again_are_not_looked_for() {
    let text = (0..3000).map(|n| format!("{{\"word\":\"ok\",\"name\":\"row {n}\"}}\n")).collect::<Vec<_>>().concat();
    let rows = rows(&text);
    let word = rows.get(0, "word");
    assert_eq!(rows.get(2999, "word"), word);
    assert!(matches!(word, Some(Value::Text { shared: Some(_), .. })));
    assert!(matches!(rows.get(2999, "name"), Some(Value::Text { shared: None, json: "\"row 2999\"" })));
    assert_eq!(rows.equal("name", "\"row 2999\"").collect::<Vec<_>>(), [2999]);
    assert_eq!(rows.equal("word", "\"ok\"").count(), 3000);
}

#[test]
fn having_is_what_python_takes_for_true() {
    let rows = rows(
        "{\"a\":0}\n{\"a\":[]}\n{\"a\":[0]}\n{\"b\":1}\n{\"a\":null}\n{\"a\":\"\"}\n{\"a\":\"no\"}\n{\"a\":false}\n{\"a\":-1}\n",
    );
    assert_eq!(rows.having("a").collect::<Vec<_>>(), [2, 6, 8]);
}

#[test]
fn a_line_without_its_newline_is_not_there_yet() {
    assert_eq!(rows("{\"a\":1}\n{\"a\":").len(), 1);
    assert!(rows("").is_empty());
}

#[test]
fn what_is_no_plain_object_is_refused_with_its_line() {
    for bad in [
        "[1]",
        "{\"a\":1,}",
        "{\"a\":}",
        "{\"a\":01}",
        "{\"a\":nul}",
        "{\"a\":NaN}",
        "{\"a\":[1}",
        "{\"a\":1}}",
        "{\"a\":1}{}",
        "{\"a\":1,\"a\":2}",
        "{\"a\\u0062\":1}",
        "{a:1}",
        "{,\"a\":1}",
        "{\"a\":\"x}",
        "",
        "{\"a\":{\"b\":}}",
        "{\"a\":1 2}",
    ] {
        assert_eq!(refused(&format!("{{\"a\":1}}\n{bad}\n")), 2, "{bad}");
    }
}

#[test]
fn what_is_nested_deeper_than_any_record_is_refused() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}\n", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(rows(&nested(64)).len(), 1);
    assert_eq!(refused(&nested(65)), 1);
}

#[test]
fn a_file_whose_lines_have_nothing_in_common_is_refused() {
    let text = (0..300).map(|n| format!("{{\"key {n}\":1}}\n")).collect::<Vec<_>>().concat();
    assert_eq!(refused(&text), 257);
}

#[test]
fn what_is_unlike_is_found_wherever_the_key_is_missing_or_of_another_kind() {
    let rows = rows("{\"a\":1}\n{\"a\":-1}\n{\"a\":1.0}\n{\"a\":99999999999999999999}\n{\"a\":null}\n{\"b\":1}\n{\"a\":true}\n");
    assert_eq!(rows.unlike("a", Kind::Count).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
    assert_eq!(rows.unlike("a", Kind::IntegerOrNull).collect::<Vec<_>>(), [2, 5, 6]);
    assert_eq!(rows.all_keys(), ["a", "b"]);
}

#[test]
fn an_object_gives_its_members_and_what_is_none_gives_nothing() {
    let rows = rows("{\"o\":{\"x\":-3, \"y\":{\"z\":[1]}},\"s\":\"{}\",\"e\":{}}\n{\"o\":{\"x\":1}}\n{\"o\":{\"x\":1}}\n");
    let members = rows.get(0, "o").and_then(Value::members).expect("an object");
    assert_eq!(members[0], ("x", Value::Integer(-3)));
    assert!(matches!(members[1], ("y", Value::Text { json: "{\"z\":[1]}", .. })));
    assert_eq!(rows.get(0, "s").and_then(Value::members), None);
    assert_eq!(rows.get(0, "e").and_then(Value::members), Some(vec![]));
    assert_eq!(rows.distinct("o").len(), 2);
}
