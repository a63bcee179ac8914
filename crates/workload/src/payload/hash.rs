//! A hash at memory speed over the body of a cell. Never stored: both sides of each comparison are made in this process.

/// Hash of `body`. Any change confined to one 16-byte word changes it for certain (each step is a bijection);
/// other changes escape with probability about 2⁻⁶⁴.
#[inline]
pub fn body_hash(body: &[u8]) -> u64 {
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

/// Four lanes of multiply and rotate: the same guarantee, slower.
fn portable(body: &[u8]) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4];
    for (n, word) in body.chunks(8).enumerate() {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        let lane = &mut lanes[n % 4];
        *lane = (*lane ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    lanes.into_iter().fold(body.len() as u64, |hash, lane| crate::mix::mix64(hash ^ lane))
}

#[cfg(target_arch = "x86_64")]
mod aes {
    use std::arch::x86_64::{
        __m128i, _mm_aesenc_si128, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_set1_epi64x, _mm_unpackhi_epi64, _mm_xor_si128,
    };

    const LANES: usize = 8;

    /// One AES round a word, in eight independent lanes so that the rounds overlap.
    #[target_feature(enable = "aes,sse2")]
    pub fn hash(body: &[u8]) -> u64 {
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
    pub fn fold(lanes: [__m128i; 4], last: __m128i) -> u64 {
        let halves = [_mm_aesenc_si128(lanes[0], lanes[1]), _mm_aesenc_si128(lanes[2], lanes[3])];
        let whole = _mm_aesenc_si128(_mm_aesenc_si128(halves[0], halves[1]), last);
        let mixed = _mm_aesenc_si128(_mm_aesenc_si128(whole, last), last);
        let folded = _mm_xor_si128(mixed, _mm_unpackhi_epi64(mixed, mixed));
        _mm_cvtsi128_si64(folded) as u64
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
    pub fn hash(body: &[u8]) -> u64 {
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
        let mut versions: Vec<fn(&[u8]) -> u64> = vec![body_hash, portable];
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
}
