//! A hash at memory speed over the body of a cell. Never stored: both sides of each comparison are made in this process.
//!
//! What it finds, of a body of whole 16-byte words:
//! - for certain, any change that lies within one of them (counted from the body's start), such as a flipped bit or byte:
//!   the word goes into one lane of 128 bits, each step is a bijection of what the word changed (one round of AES, or an
//!   addition to it), and all 128 bits are kept;
//! - of other changes, all but about one in 2¹²⁸ where the wrong bytes are random (another body, other data, a hole), and
//!   about one in 2⁶⁴ where the CPU has no AES;
//! - but not what somebody changed who knows it: one round of AES is no secret, and of two changes in words of the same
//!   lane one can be chosen to undo the other. It tells damage, not intent.

/// Hash of `body`.
#[inline]
pub fn body_hash(body: &[u8]) -> u128 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("vaes") && std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the features were detected on this machine.
        return unsafe { wide::hash(body) };
    } else if std::arch::is_x86_feature_detected!("aes") {
        // SAFETY: the feature was detected on this machine.
        return unsafe { aes::hash(body) };
    }
    portable(body)
}

/// Four lanes of multiply and rotate, slower: the two halves of a word go into lanes that end in different halves of the
/// hash, so that neither undoes the other.
fn portable(body: &[u8]) -> u128 {
    let mut lanes = [1_u64, 2, 3, 4];
    for (n, word) in body.chunks(8).enumerate() {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        let lane = &mut lanes[n % 4];
        *lane = (*lane ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    let half =
        |first: u64, second: u64| crate::integer_mixing::mix64(crate::integer_mixing::mix64(body.len() as u64 ^ first) ^ second);
    u128::from(half(lanes[1], lanes[3])) << 64 | u128::from(half(lanes[0], lanes[2]))
}

#[cfg(target_arch = "x86_64")]
mod aes {
    use std::arch::x86_64::{__m128i, _mm_aesenc_si128, _mm_loadu_si128, _mm_set1_epi64x};

    const LANES: usize = 8;

    /// One AES round a word, in eight independent lanes so that the rounds overlap.
    #[target_feature(enable = "aes,sse2")]
    pub fn hash(body: &[u8]) -> u128 {
        let mut lanes: [__m128i; LANES] = std::array::from_fn(|n| _mm_set1_epi64x(n as i64 + 1));
        let (groups, rest) = body.as_chunks::<{ 16 * LANES }>();
        for group in groups {
            let (words, _) = group.as_chunks::<16>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                *lane = _mm_aesenc_si128(*lane, load(word));
            }
        }
        let (words, tail) = rest.as_chunks::<16>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = _mm_aesenc_si128(*lane, load(word));
        }
        let mut last = [0; 16];
        last[..tail.len()].copy_from_slice(tail);
        let pairs: [__m128i; LANES / 2] = std::array::from_fn(|n| _mm_aesenc_si128(lanes[n], lanes[n + LANES / 2]));
        fold(pairs, load(&last))
    }

    /// Four lanes and the odd bytes as one number, in a tree so that the rounds overlap with the next cell's.
    #[inline]
    #[target_feature(enable = "aes,sse2")]
    pub fn fold(lanes: [__m128i; 4], last: __m128i) -> u128 {
        let halves = [_mm_aesenc_si128(lanes[0], lanes[1]), _mm_aesenc_si128(lanes[2], lanes[3])];
        let whole = _mm_aesenc_si128(_mm_aesenc_si128(halves[0], halves[1]), last);
        let mixed = _mm_aesenc_si128(_mm_aesenc_si128(whole, last), last);
        bits(mixed)
    }

    /// All of them: fewer would let a change of a single word escape.
    #[inline]
    pub const fn bits(word: __m128i) -> u128 {
        // SAFETY: both are 128 bits, and any bits are a value of either.
        unsafe { std::mem::transmute(word) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn load(word: &[u8; 16]) -> __m128i {
        // SAFETY: the pointer is to 16 readable bytes and the load has no alignment.
        unsafe { _mm_loadu_si128(word.as_ptr().cast()) }
    }
}

/// The same idea with four words an instruction, where the CPU has it: then memory is the limit, not the rounds.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m128i, __m512i, _MM_HINT_T0, _mm_aesenc_si128, _mm_prefetch, _mm512_aesenc_epi128, _mm512_extracti32x4_epi32,
        _mm512_loadu_si512, _mm512_set1_epi64,
    };

    const LANES: usize = 4;

    #[target_feature(enable = "aes,sse2,avx512f,vaes")]
    pub fn hash(body: &[u8]) -> u128 {
        let mut lanes: [__m512i; LANES] = std::array::from_fn(|n| _mm512_set1_epi64(n as i64 + 1));
        let (groups, rest) = body.as_chunks::<{ 64 * LANES }>();
        for group in groups {
            let (words, _) = group.as_chunks::<64>();
            for word in words {
                fetch_ahead(word);
            }
            for (lane, word) in lanes.iter_mut().zip(words) {
                *lane = _mm512_aesenc_epi128(*lane, load(word));
            }
        }
        let (words, rest) = rest.as_chunks::<64>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = _mm512_aesenc_epi128(*lane, load(word));
        }
        let halves = [_mm512_aesenc_epi128(lanes[0], lanes[1]), _mm512_aesenc_epi128(lanes[2], lanes[3])];
        let whole = _mm512_aesenc_epi128(halves[0], halves[1]);
        let mut parts: [__m128i; 4] = [
            _mm512_extracti32x4_epi32::<0>(whole),
            _mm512_extracti32x4_epi32::<1>(whole),
            _mm512_extracti32x4_epi32::<2>(whole),
            _mm512_extracti32x4_epi32::<3>(whole),
        ];
        let (words, tail) = rest.as_chunks::<16>();
        for (part, word) in parts.iter_mut().zip(words) {
            *part = _mm_aesenc_si128(*part, super::aes::load(word));
        }
        let mut last = [0; 16];
        last[..tail.len()].copy_from_slice(tail);
        super::aes::fold(parts, super::aes::load(&last))
    }

    /// Has the same word of the next cell brought near while this one is hashed: the second level of cache is slower
    /// than the rounds.
    #[inline]
    fn fetch_ahead(word: &[u8; 64]) {
        let next = word.as_ptr().wrapping_add(crate::CELL_BYTES);
        // SAFETY: a hint; it touches nothing, and where there is no memory it does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(next.cast()) };
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(word: &[u8; 64]) -> __m512i {
        // SAFETY: the pointer is to 64 readable bytes and the load has no alignment.
        unsafe { _mm512_loadu_si512(word.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_byte_counts_in_every_version() {
        let body: Vec<u8> = (0..4064_u32).map(|n| (n * 31) as u8).collect();
        let mut versions: Vec<fn(&[u8]) -> u128> = vec![body_hash, portable];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("aes") {
            // SAFETY: the feature was detected on this machine.
            versions.push(|body| unsafe { aes::hash(body) });
        }
        for hash in versions {
            let whole = hash(&body);
            for at in 0..body.len() {
                let mut other = body.clone();
                other[at] ^= 0x40;
                assert_ne!(hash(&other), whole, "byte {at}");
            }
        }
    }

    /// Undoes the three rounds that end a hash whose body has no odd bytes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "aes,sse2")]
    fn before_the_last_rounds(hash: u128) -> u128 {
        use std::arch::x86_64::{_mm_aesdeclast_si128, _mm_aesimc_si128, _mm_setzero_si128};
        let mut state = aes::load(&hash.to_le_bytes());
        for _ in 0..3 {
            state = _mm_aesdeclast_si128(_mm_aesimc_si128(state), _mm_setzero_si128());
        }
        aes::bits(state)
    }

    /// The last word of the last lane is added to what the last three rounds work on, so for any other hash there is a
    /// word that gives it: also for one whose halves have the same sum, which a sum of the halves would not tell apart.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_single_word_that_leaves_the_sum_of_the_halves_as_it_was_is_found() {
        if !std::arch::is_x86_feature_detected!("aes") {
            return;
        }
        let body: Vec<u8> = (0..4064_u32).map(|n| (n * 31) as u8).collect();
        // SAFETY: the feature was detected on this machine.
        let hash = |body: &[u8]| unsafe { aes::hash(body) };
        let whole = hash(&body);
        for same in [1, 0x8000_0000_0000_0000, 0x1234_5678_9abc_def0_u64] {
            let aimed = whole ^ (u128::from(same) << 64 | u128::from(same));
            // SAFETY: as above.
            let change = unsafe { before_the_last_rounds(whole) ^ before_the_last_rounds(aimed) };
            let mut other = body.clone();
            for (byte, change) in other[247 * 16..248 * 16].iter_mut().zip(change.to_le_bytes()) {
                *byte ^= change;
            }
            let sum = |hash: u128| (hash >> 64) as u64 ^ hash as u64;
            assert_eq!(sum(hash(&other)), sum(whole), "one word changed, and the sum is what it was");
            assert_ne!(hash(&other), whole);
        }
    }

    #[test]
    fn no_half_of_a_word_undoes_the_other_without_aes() {
        let body: Vec<u8> = (0..4064_u32).map(|n| (n * 31) as u8).collect();
        let mut random = crate::SplitMix64::new(3);
        let halves = |hash: u128| (hash as u64, (hash >> 64) as u64);
        for word in 0..body.len() / 16 {
            let changed = |low: u64, high: u64| {
                let mut other = body.clone();
                let change = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
                other[word * 16..][..16].iter_mut().zip(change).for_each(|(byte, change)| *byte ^= change);
                halves(portable(&other))
            };
            let (whole, low, high) = (halves(portable(&body)), random.next_u64() | 1, random.next_u64() | 1);
            let (one, two, both) = (changed(low, 0), changed(0, high), changed(low, high));
            assert!(one.0 != whole.0 && one.1 == whole.1 && two.1 != whole.1 && two.0 == whole.0);
            assert_eq!(both, (one.0, two.1));
        }
    }
}
