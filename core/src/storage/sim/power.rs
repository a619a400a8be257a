//! What is left of a disk when the power fails.

use std::collections::BTreeMap;

use super::disk::{Directory, Disk, Inode, InodeNo};
use crate::storage::random::Random;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// How much of the unsynced is kept. Independent choices alone would almost never keep all or
/// nothing, and those are the cases that real machines show most.
#[derive(Clone, Copy)]
enum Luck {
    All,
    None,
    /// What came first, up to somewhere.
    Prefix,
    /// Each piece for itself.
    Each,
}

impl Luck {
    fn draw(random: &mut Random) -> Self {
        match random.next() % 4 {
            0 => Self::All,
            1 => Self::None,
            2 => Self::Prefix,
            _ => Self::Each,
        }
    }
}

/// A number from 0 to `last`.
fn up_to(random: &mut Random, last: usize) -> usize {
    (random.next() % (last as u64 + 1)) as usize
}

fn coin(random: &mut Random) -> bool {
    random.next().is_multiple_of(2)
}

impl Disk {
    /// One of the disks that a power cut may leave.
    pub(super) fn after_power_cut(&self, random: &mut Random) -> Self {
        let mut left = self.reachable();
        left.undo_some_dir_changes(|| coin(random));
        for dir in left.dirs.values_mut() {
            *dir = Directory::durable(dir.surviving_names(random));
        }
        for inode in left.inodes.values_mut() {
            *inode = inode.survivor(random);
        }
        left.reachable()
    }
}

impl Directory {
    fn surviving_names(&self, random: &mut Random) -> BTreeMap<String, InodeNo> {
        let mut names = self.durable.clone();
        let luck = Luck::draw(random);
        let first = up_to(random, self.pending.len());
        for (no, change) in self.pending.iter().enumerate() {
            let kept = match luck {
                Luck::All => true,
                Luck::None => false,
                Luck::Prefix => no < first,
                Luck::Each => coin(random),
            };
            if kept {
                change.apply(&mut names);
            }
        }
        names
    }
}

impl Inode {
    fn survivor(&self, random: &mut Random) -> Self {
        let luck = Luck::draw(random);
        let len = match luck {
            Luck::All => self.bytes.len(),
            Luck::None => self.synced_len,
            Luck::Prefix | Luck::Each => self.shortest + up_to(random, self.longest - self.shortest),
        };
        // The length and the bytes go to the disk each in their own time.
        let kept = match luck {
            Luck::All | Luck::Each => self.appended,
            Luck::None => self.synced,
            Luck::Prefix => self.written_first(random),
        };
        let mut bytes = self.bytes[..kept.min(len)].to_vec();
        bytes.resize(len, 0);
        if matches!(luck, Luck::Each) {
            self.tear(&mut bytes, self.synced, self.appended.min(len), random);
        }
        for dropped in &self.dropped {
            self.tear(&mut bytes, dropped.start, dropped.end.min(len), random);
        }
        let mut survivor = Self { bytes, appended: len, ..Self::default() };
        survivor.sync();
        survivor
    }

    /// Where the bytes end that were written before the power failed, if they were in order: with a
    /// sector, as it stood after some append.
    fn written_first(&self, random: &mut Random) -> usize {
        if coin(random) && !self.appends.is_empty() {
            return self.appends[up_to(random, self.appends.len() - 1)];
        }
        let place = self.synced + up_to(random, self.appended - self.synced);
        (place / SECTOR_BYTES * SECTOR_BYTES).max(self.synced)
    }

    /// Puts each sector of `from..to` back to how it stood after one of the appends that touched
    /// it, or before all of them.
    fn tear(&self, bytes: &mut [u8], from: usize, to: usize, random: &mut Random) {
        let mut start = from;
        while start < to {
            let end = to.min((start / SECTOR_BYTES + 1) * SECTOR_BYTES);
            let inner: Vec<usize> =
                self.appends.iter().copied().filter(|&append| start < append && append < end).collect();
            let kept = match up_to(random, inner.len() + 1) {
                0 => start,
                choice => inner.get(choice - 1).copied().unwrap_or(end),
            };
            bytes[kept..end].fill(0);
            start = end;
        }
    }
}
