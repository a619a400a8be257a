//! The functions of other crates, with their own defaults.

use dsi_progress_logger::no_logging;
use ph::GetSize;
use ph::phast;
use ph::seeds::Bits8;
use ptr_hash::bucket_fn::Linear;
use ptr_hash::hash::FastIntHash;
use ptr_hash::{DefaultPtrHash, FastPtrHash, PtrHash, PtrHashParams};
use sux::func::PHastR;
use sux::utils::FromCloneableIntoIterator;

use crate::{Function, Side};

macro_rules! ptr_hash {
    ($name:ident, $type:ty, $side:ident, $shown:literal) => {
        pub(crate) struct $name($type);

        impl Function for $name {
            const NAME: &'static str = $shown;
            const SIDE: Side = Side::$side;

            fn build(keys: &[u64]) -> Self {
                Self(<$type>::new(keys, PtrHashParams::default()))
            }
            fn index(&self, key: u64) -> usize {
                self.0.index(&key)
            }
            fn slots(&self) -> usize {
                self.0.max_index()
            }
            fn bits(&self) -> f64 {
                let (pilots, remap) = self.0.bits_per_element();
                (pilots + remap) * self.0.n() as f64
            }
        }
    };
}

ptr_hash!(PtrHashSingle, DefaultPtrHash, PtrHash, "ptr_hash, one part");
ptr_hash!(
    PtrHashParts,
    PtrHash<u64, Linear, Vec<u32>, FastIntHash, Vec<u8>, false, true>,
    PtrHash,
    "ptr_hash, parts"
);
ptr_hash!(PtrHashFast, FastPtrHash, Other, "ptr_hash, not minimal");

macro_rules! phast {
    ($name:ident, $type:ty, $shown:literal) => {
        pub(crate) struct $name($type);

        impl Function for $name {
            const NAME: &'static str = $shown;
            const SIDE: Side = Side::Other;

            fn build(keys: &[u64]) -> Self {
                Self(<$type>::from_slice_st(keys))
            }
            fn index(&self, key: u64) -> usize {
                self.0.get(&key)
            }
            fn slots(&self) -> usize {
                self.0.output_range()
            }
            fn bits(&self) -> f64 {
                self.0.size_bytes() as f64 * 8.0
            }
        }
    };
}

phast!(Phast, phast::Function<Bits8>, "ph, PHast");
phast!(PhastShift, phast::Function2<Bits8>, "ph, PHast+ with shifts");

pub(crate) struct PhastR {
    function: PHastR<u64>,
    keys: usize,
}

impl Function for PhastR {
    const NAME: &'static str = "sux, PHastR";
    const SIDE: Side = Side::Other;

    fn build(keys: &[u64]) -> Self {
        let lent = FromCloneableIntoIterator::new(keys);
        let function = PHastR::try_new(lent, no_logging![]).expect("distinct keys");
        Self { function, keys: keys.len() }
    }
    fn index(&self, key: u64) -> usize {
        self.function.get(key)
    }
    fn slots(&self) -> usize {
        self.keys
    }
    fn bits(&self) -> f64 {
        use mem_dbg::{MemSize, SizeFlags};
        self.function.mem_size(SizeFlags::default()) as f64 * 8.0
    }
}
