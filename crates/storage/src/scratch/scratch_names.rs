//! How everything is called that may lie in a scratch directory beside its marker and trees: nothing else is made there,
//! and nothing else is removed.

/// How a data file is named.
pub(crate) fn data_name(file: u32) -> String {
    format!("data.{file:08}")
}

/// The snapshot of a data file: a copy that shares its blocks.
pub(crate) fn clone_name(file: u32, round: u32) -> String {
    format!("{}.{}", data_name(file), round_name(round))
}

pub(crate) fn is_clone_name(name: &[u8]) -> bool {
    let dot = name.iter().rposition(|&byte| byte == b'.');
    dot.is_some_and(|dot| is_data_name(&name[..dot]) && is_round_name(&name[dot + 1..]))
}

/// Whether `name` is exactly how a data file is named.
pub(crate) fn is_data_name(name: &[u8]) -> bool {
    let number = name.strip_prefix(b"data.").and_then(|digits| std::str::from_utf8(digits).ok());
    // Formatting again refuses other spellings of a number, such as `+1` or too many zeros.
    number.and_then(|digits| digits.parse().ok()).is_some_and(|file| data_name(file).as_bytes() == name)
}

/// The name of a round's snapshot.
pub(crate) fn round_name(round: u32) -> String {
    format!("r{round:05}")
}

/// Whether it is exactly how the snapshot of a round is called.
pub(crate) fn is_round_name(name: &[u8]) -> bool {
    let number = || std::str::from_utf8(name).ok()?.strip_prefix('r')?.parse().ok();
    number().is_some_and(|round| round_name(round).as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_of_a_file_number_is_a_data_name() {
        for file in [0, 7, 99_999_999, 100_000_000, u32::MAX] {
            assert!(is_data_name(data_name(file).as_bytes()));
        }
        for name in ["data.", "data.1", "data.+0000001", "data.000000001", "data.0000000x", "data.4294967296", "xdata.00000000"] {
            assert!(!is_data_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn only_the_exact_spelling_of_a_round_is_ours() {
        assert!([0, 7, 99_999, 123_456].into_iter().all(|round| is_round_name(round_name(round).as_bytes())));
        for other in ["r", "r7", "r+0007", "r000007", "s00007", "r0000x", "r123456789012"] {
            assert!(!is_round_name(other.as_bytes()), "{other}");
        }
    }
}
