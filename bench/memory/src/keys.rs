//! Keys, and the orders in which they are asked for: all of it made beforehand, so that none of it is
//! measured.

use std::fmt::Write as _;

/// No order is shorter: the processor does not learn it by heart.
const ORDER_MIN: usize = 1 << 22;

/// A key that is asked for, as its caller has it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) number: u32,
    pub(crate) name: &'a String,
}

/// Names, one after another in memory.
pub(crate) struct Names(Vec<String>);

impl Names {
    /// The names of these keys, in this order. Whoever asks for them in the same order finds each at hand, as a caller does that
    /// has just read it from a request.
    pub(crate) fn of(numbers: impl Iterator<Item = u32>) -> Self {
        let name = |number: u32| {
            let mut name = String::with_capacity(16);
            let _ = write!(name, "api:user-{number:06}");
            name
        };
        Self(numbers.map(name).collect())
    }

    /// Each of them, as a key to ask for: `numbers` are those that they were made of.
    pub(crate) fn asked(&self, numbers: impl Iterator<Item = u32>) -> Vec<Asked<'_>> {
        numbers.zip(&self.0).map(|(number, name)| Asked { number, name }).collect()
    }

    /// Keys to ask for in another order, each by the name that stands at its number: names from all over the memory.
    pub(crate) fn asked_by_number(&self, order: &[u32]) -> Vec<Asked<'_>> {
        order.iter().map(|&number| Asked { number, name: &self.0[number as usize] }).collect()
    }
}

/// How often which key is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each as often as any other.
    Uniform,
    /// The second half as often as the first, the third a third as often: exponent 1.
    Zipf,
}

impl Order {
    /// The numbers of the keys to ask for, again and again from the beginning. There are a power of two of them.
    pub(crate) fn of(self, keys: u32) -> Vec<u32> {
        let mut random = Random(0x7011_6a7e);
        let length = ORDER_MIN.max((keys as usize).next_power_of_two());
        match self {
            Self::Uniform => (0..length).map(|_| random.below(keys)).collect(),
            Self::Zipf => zipf(keys, length, &mut random),
        }
    }
}

fn zipf(keys: u32, length: usize, random: &mut Random) -> Vec<u32> {
    let mut sum = 0.0;
    let up_to: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        })
        .collect();
    // Which key has which rank: shuffled, so that those asked for often are not neighbours in memory.
    let mut of_rank: Vec<u32> = (0..keys).collect();
    for last in (1..keys).rev() {
        of_rank.swap(last as usize, random.below(last + 1) as usize);
    }
    let mut draw = || {
        let point = random.unit() * sum;
        let rank = up_to.partition_point(|&to| to <= point);
        of_rank[rank.min(of_rank.len() - 1)]
    };
    (0..length).map(|_| draw()).collect()
}

/// SplitMix64: the same numbers in every run.
struct Random(u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(((self.next() >> 32) * u64::from(end)) >> 32).expect("less than `end`")
    }

    /// From zero to one, in steps that a float holds exactly.
    fn unit(&mut self) -> f64 {
        let bits = u32::try_from(self.next() >> 32).expect("32 bits are left");
        f64::from(bits) / f64::from(u32::MAX)
    }
}

#[test]
fn the_first_key_of_zipf_is_asked_for_twice_as_often_as_the_second() {
    let mut counts = vec![0_u32; 1_000];
    let order = Order::Zipf.of(1_000);
    order.iter().for_each(|&key| counts[key as usize] += 1);
    counts.sort_unstable();
    let ratio = f64::from(counts[999]) / f64::from(counts[998]);
    assert!((1.95..2.05).contains(&ratio), "{ratio}");
    assert!(counts[0] > 0 && order.len().is_power_of_two());
}
