//! Prefetches a line of slots, and compares all its tags at once.
#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "instructions that there is no other way to: harmless, and there on every processor"
    )
)]

use super::slot::{LINE_SLOTS, Line, Tag};

/// Fetches whatever something lies in, and does not wait for it.
#[inline]
pub(crate) fn prefetch<T: ?Sized>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is harmless, and this is one of ours.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}

/// Fetches a line and the one after it, where a key stands that found its home full. Waits for neither.
#[inline]
pub(crate) fn prefetch_pair(line: &Line) {
    prefetch(line);
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is harmless, even of one where nothing is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).wrapping_add(1).cast()) };
    }
}

/// Which of the tags is this one: a bit for each, the first one lowest. There is no jump in it: which slot a key has cannot
/// be predicted.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn matching(tags: [Tag; LINE_SLOTS], tag: Tag) -> u32 {
    // SAFETY: every processor of this architecture has SSE2.
    unsafe { matching_at_once(tags, tag) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn matching_at_once(tags: [Tag; LINE_SLOTS], tag: Tag) -> u32 {
    use core::arch::x86_64::{
        _mm_and_si128, _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_movemask_ps, _mm_packs_epi32, _mm_set_epi64x,
        _mm_set1_epi64x, _mm_shuffle_epi32,
    };
    let number = |tag: Tag| tag.bits().cast_signed();
    let wanted = _mm_set1_epi64x(number(tag));
    // Two tags, of which each half is compared: a tag is the one if both its halves are.
    let pair = |first, second| {
        let same = _mm_cmpeq_epi32(_mm_set_epi64x(number(second), number(first)), wanted);
        _mm_and_si128(same, _mm_shuffle_epi32::<0b10_11_00_01>(same))
    };
    let all = _mm_packs_epi32(pair(tags[0], tags[1]), pair(tags[2], tags[3]));
    _mm_movemask_ps(_mm_castsi128_ps(all)).cast_unsigned()
}

/// Which of the tags is this one: a bit for each, the first one lowest.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn matching(tags: [Tag; LINE_SLOTS], tag: Tag) -> u32 {
    tags.iter().rev().fold(0, |found, other| found << 1 | u32::from(*other == tag))
}

#[test]
fn tags_match_as_a_whole_or_not_at_all() {
    let wanted = Tag::new(0x1234_5678_9abc, 7);
    // Others that have one half in common with it, or nothing.
    let others = [Tag::new(0x1234_5678_9abd, 7), Tag::new(0x1234_5678_9abc, 8), Tag::EMPTY, Tag::DEAD];
    let others = others.into_iter().chain([Tag::new(0x0034_5678_9abc, 7), Tag::new(u64::MAX, 1023)]);
    for other in others {
        for found in 0..16 {
            let tags = std::array::from_fn(|slot| if found >> slot & 1 == 1 { wanted } else { other });
            assert_eq!(matching(tags, wanted), found, "{other:?}");
        }
    }
}
