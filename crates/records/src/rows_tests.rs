use std::io::Write;

use super::{NOTHING, Rows, RowsError, Value};

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
    assert_eq!(rows.keys(0).collect::<Vec<_>>(), ["i", "n", "b", "s", "o", "f", "z"]);
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
    let (codes, words) = rows.codes(&["word"]);
    assert_eq!((codes, words.len()), (vec![0; 3000], 1));
    let (codes, names) = rows.codes(&["name"]);
    assert_eq!((codes, names.len()), ((0..3000).collect(), 3000));
}

#[test]
fn a_kind_tells_what_stands_there_and_whether_python_takes_it_for_true() {
    let kinds = |values: &[&str]| {
        let text = values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect::<Vec<_>>().concat();
        String::from_utf8(rows(&text).kinds(&["a"])).expect("letters")
    };
    assert_eq!(kinds(&["null", "false", "true", "0", "7", "-7"]), "nbBiIK");
    assert_eq!(kinds(&["99999999999999999999", "-99999999999999999999", "0.0", "-0.0", "0e5", "1.5"]), "IKfffF");
    assert_eq!(kinds(&["\"\"", "\"x\"", "[]", "[ ]", "[0]", "{}", "{\"b\":0}"]), "sSaaAoO");
    assert_eq!(rows("{\"a\":1}\n{\"b\":1}\n").kinds(&["b"]), b"-I");
}

#[test]
fn numbers_are_there_or_nothing_is_and_anything_else_is_refused() {
    let rows = rows("{\"o\":{\"x\":1},\"f\":1}\n{\"o\":{\"x\":null},\"f\":0.5}\n{\"o\":{\"x\":-3}}\n{}\n");
    assert_eq!(rows.numbers(&["o", "x"], 0..4), Some(vec![1, NOTHING, -3, NOTHING]));
    assert_eq!(rows.numbers(&["o", "x"], [2, 0].into_iter()), Some(vec![-3, 1]));
    assert_eq!(rows.numbers(&["f"], [0, 2].into_iter()), Some(vec![1, NOTHING]));
    assert_eq!(rows.numbers(&["f"], 0..4), None);
    assert_eq!(rows.numbers(&["missing"], 0..1), Some(vec![NOTHING]));
}

#[test]
fn a_path_leads_into_the_objects_of_rows_whether_they_share_them_or_not() {
    let rows = rows("{\"o\":{\"x\":1}}\n{\"o\":{\"x\":1}}\n{\"o\":{\"x\":2,\"x\":3}}\n{\"o\":null}\n{}\n{\"o\":{\"y\":1}}\n");
    let values: Vec<_> = rows.values(&["o", "x"], 0..6).collect();
    let integer = |value| Some(Value::Integer(value));
    assert_eq!(values, [integer(1), integer(1), integer(3), None, None, None]);
    assert_eq!(rows.kinds(&["o", "x"]), b"III---");
    assert_eq!(rows.codes(&["o", "x"]), (vec![0, 0, 1, 2, 2, 2], vec![Value::Integer(1), Value::Integer(3), Value::Null]));
    assert_eq!(rows.values(&["o"], [4, 3].into_iter()).collect::<Vec<_>>(), [None, Some(Value::Null)]);
}

#[test]
fn integers_are_members_of_objects_however_many_threads_look() {
    let rows = rows("{\"o\":{\"x\":1,\"y\":2,\"x\":3}}\n{\"p\":1}\n{\"o\":{\"y\":-5,\"x\":null,\"z\":7}}\n{\"o\":[]}\n");
    let (x, y, z) = ([3, NOTHING, NOTHING, NOTHING], [2, NOTHING, -5, NOTHING], [NOTHING, NOTHING, 7, NOTHING]);
    for parts in 1..6 {
        let found = rows.integers_in_parts("o", parts);
        assert_eq!(found, [("x", x.to_vec()), ("y", y.to_vec()), ("z", z.to_vec())], "{parts}");
    }
    assert_eq!(rows.integers("o"), rows.integers_in_parts("o", 3));
    assert_eq!(rows.integers("p"), []);
    assert_eq!(rows.integers("nothing"), []);
}

#[test]
fn of_objects_that_are_no_figures_not_every_name_becomes_a_column() {
    let text = (0..300).map(|n| format!("{{\"o\":{{\"n{n}\":{n}}}}}\n")).collect::<Vec<_>>().concat();
    let rows = rows(&text);
    let found = rows.integers_in_parts("o", 3);
    assert_eq!(found.len(), 64);
    assert!(found.iter().all(|(_, column)| column.len() == 300));
}

#[test]
fn rows_have_the_keys_of_their_own_lines_in_their_order() {
    let rows = rows("{\"a\":1,\"b\":2}\n{\"b\":3,\"c\":4}\n{\"b\":5,\"a\":6}\n{}\n");
    let keys: Vec<Vec<_>> = (0..4).map(|row| rows.keys(row).collect()).collect();
    assert_eq!(keys, [vec!["a", "b"], vec!["b", "c"], vec!["b", "a"], vec![]]);
    assert_eq!((rows.get(1, "a"), rows.get(2, "a")), (None, Some(Value::Integer(6))));
    assert_eq!(rows.all_keys().collect::<Vec<_>>(), ["a", "b", "c"]);
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
    assert_eq!(refused(&nested(900)), 1);
    assert_eq!(rows(&format!("{{\"a\":[{}0]}}\n", "[],".repeat(900))).len(), 1);
}

#[test]
fn a_file_whose_lines_have_nothing_in_common_is_refused() {
    let text = (0..300).map(|n| format!("{{\"key {n}\":1}}\n")).collect::<Vec<_>>().concat();
    assert_eq!(refused(&text), 257);
}

#[test]
fn an_object_gives_its_members_and_what_is_none_gives_nothing() {
    let rows = rows("{\"o\":{\"x\":-3, \"y\":{\"z\":[1]}},\"s\":\"{}\",\"e\":{}}\n{\"o\":{\"x\":1}}\n{\"o\":{\"x\":1}}\n");
    let members = rows.get(0, "o").and_then(Value::members).expect("an object");
    assert_eq!(members[0], ("x", Value::Integer(-3)));
    assert!(matches!(members[1], ("y", Value::Text { json: "{\"z\":[1]}", .. })));
    assert_eq!(rows.get(0, "s").and_then(Value::members), None);
    assert_eq!(rows.get(0, "e").and_then(Value::members), Some(vec![]));
    assert_eq!(rows.codes(&["o"]).0, [0, 1, 1]);
}

fn file_of(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file
}

#[test]
fn parts_of_a_file_are_together_what_one_reader_finds() {
    let line = |n: u32| match n % 5 {
        0 => format!("{{\"n\":{n},\"word\":\"ok\",\"name\":\"row {n}\",\"at\":{{\"x\":{}}}}}\n", n % 3),
        1 => format!("{{\"n\":{n},\"word\":\"late {}\",\"more\":[{n}]}}\n", n % 7),
        2 => format!("{{\"name\":\"{}\",\"n\":{n}}}\n", "long ".repeat(400)),
        3 => format!("{{\"n\":{},\"word\":null}}\n", i64::MAX),
        _ => format!("{{\"only {}\":true,\"n\":-{n}.5}}\n", n % 2),
    };
    let whole: String = (0..700).map(line).collect();
    for torn in ["", "{\"n\":1"] {
        let text = format!("{whole}{torn}");
        let file = file_of(&text);
        let path = file.path();
        let one = rows(&text);
        for parts in [1, 2, 3, 8, 1000] {
            let together = Rows::in_parts(path, text.len() as u64, parts).expect("plain lines");
            assert_eq!(together.len(), 700, "{parts} parts");
            for row in 0..one.len() {
                assert!(together.keys(row).eq(one.keys(row)), "{parts} parts, row {row}");
                for key in one.keys(row) {
                    let [here, there] = [&together, &one].map(|rows| rows.get(row, key).map(Value::same));
                    assert_eq!(here, there, "{parts} parts, row {row}, {key}");
                }
            }
            assert_eq!(together.codes(&["word"]).0, one.codes(&["word"]).0, "{parts} parts");
        }
        let unfinished = (text.len() - 3) as u64;
        assert_eq!(Rows::in_parts(path, unfinished, 8).expect("plain lines").len(), 700 - usize::from(torn.is_empty()));
    }
}

#[test]
fn a_line_that_is_refused_has_its_number_in_the_whole_file() {
    let text = format!("{}no\n{}", "{\"n\":1}\n".repeat(90), "{\"n\":2}\n".repeat(5));
    let file = file_of(&text);
    let path = file.path();
    for parts in [1, 2, 8] {
        let found = Rows::in_parts(path, text.len() as u64, parts);
        assert!(matches!(found, Err(RowsError::Line(91))), "{parts} parts: {found:?}");
    }
}
