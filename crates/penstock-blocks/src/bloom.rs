//! Which subjects a block may have: a Bloom filter that stays in memory when the block does not,
//! so that a search for one subject passes over the blocks without it.

const BITS_PER_SUBJECT: usize = 10; // about one false answer in a hundred
const WORDS_MAX: usize = 2048; // 16 KiB a block at most; with more subjects it lies more often
const PROBES: u32 = 5;

#[derive(Clone, Debug, Default)]
pub struct Bloom {
    words: Vec<u64>,
}

/// The same in every process, because the filters are kept in the index file.
#[must_use]
pub fn hash(subject: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in subject {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 33
}

impl Bloom {
    #[must_use]
    pub fn for_subjects(count: usize) -> Bloom {
        let words = (count * BITS_PER_SUBJECT).div_ceil(64).next_power_of_two();
        Bloom {
            words: vec![0; words.min(WORDS_MAX)],
        }
    }

    #[must_use]
    pub fn from_words(words: Vec<u64>) -> Bloom {
        Bloom { words }
    }

    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub fn insert(&mut self, hash: u64) {
        for probe in 0..PROBES {
            let (word, bit) = self.place(hash, probe);
            self.words[word] |= bit;
        }
    }

    /// False only if no such subject is in the block. An empty filter knows nothing.
    #[must_use]
    pub fn may_contain(&self, hash: u64) -> bool {
        self.words.is_empty()
            || (0..PROBES).all(|probe| {
                let (word, bit) = self.place(hash, probe);
                self.words[word] & bit != 0
            })
    }

    fn place(&self, hash: u64, probe: u32) -> (usize, u64) {
        let step = (hash >> 32 | 1).wrapping_mul(u64::from(probe));
        let bit = hash.wrapping_add(step) as usize % (self.words.len() * 64);
        (bit / 64, 1 << (bit % 64))
    }
}
