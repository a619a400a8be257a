//! Operations to be written as one.

use std::collections::HashMap;
use std::sync::Arc;

use kiban_formats::log::LogOps;
use kiban_formats::payload_crc;

use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use crate::limits;
use crate::space::Space;

/// Operations that [`Db::write`](crate::Db::write) applies all or nothing, also across
/// keyspaces. Of several operations on one key the last wins. Owns its bytes.
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    ops: LogOps,
    facts: Vec<OpFacts>,
    spaces: Spaces,
    expectations: Vec<Expectation>,
    /// The first operation that broke a limit. It is not in `ops`.
    refused: Option<Error>,
}

/// What is known of an operation beside its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpFacts {
    /// The checksum of key and value, made when the caller handed them in.
    pub(crate) payload_crc: u32,
    /// The ordinal of its keyspace in [`WriteBatch::spaces`].
    pub(crate) space: u32,
}

/// The keyspaces of a batch, each once.
#[derive(Clone, Debug, Default)]
struct Spaces {
    list: Vec<Arc<Space>>,
    /// Their ordinals by address, once there are several. The list keeps each where it is.
    ordinals: HashMap<usize, u32>,
    /// The ordinal of the one before: operations of a keyspace come in runs.
    last: u32,
}

impl Spaces {
    fn ordinal(&mut self, space: &Arc<Space>) -> u32 {
        if self.list.get(self.last as usize).is_some_and(|last| Arc::ptr_eq(last, space)) {
            return self.last;
        }
        // No program has as many keyspaces as that.
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.last = *self.ordinals.entry(Arc::as_ptr(space).addr()).or_insert_with(|| {
            self.list.push(space.clone());
            next
        });
        self.last
    }
}

/// What must hold for a batch to be applied.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) space: Arc<Space>,
    pub(crate) key: Vec<u8>,
    /// `None`: the key is absent.
    pub(crate) value: Option<Vec<u8>>,
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key` to `value` in `keyspace`. A key or value over the limits is reported by the write.
    pub fn put(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (key, value) = (key.as_ref(), value.as_ref());
        if let Err(error) = limits::check_key(key).and_then(|()| limits::check_value(value)) {
            self.refused.get_or_insert(error);
            return;
        }
        self.ops.push_put(keyspace.space().id, key, value);
        let space = self.spaces.ordinal(keyspace.space());
        self.facts.push(OpFacts { payload_crc: payload_crc(key, value), space });
    }

    /// Removes `key` from `keyspace`. A key over the limit is reported by the write.
    pub fn delete(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        if let Err(error) = limits::check_key(key) {
            self.refused.get_or_insert(error);
            return;
        }
        self.ops.push_delete(keyspace.space().id, key);
        let space = self.spaces.ordinal(keyspace.space());
        self.facts.push(OpFacts { payload_crc: payload_crc(key, &[]), space });
    }

    /// Applies the batch only if `key` has this value (`None`: is absent) when it is committed;
    /// else the write gives [`Conflict`](crate::ErrorKind::Conflict) and nothing is written.
    pub fn expect(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>, value: Option<&[u8]>) {
        self.expectations.push(Expectation {
            space: keyspace.space().clone(),
            key: key.as_ref().to_vec(),
            value: value.map(<[u8]>::to_vec),
        });
        self.spaces.ordinal(keyspace.space());
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Number of operations. Expectations do not count.
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// There is no operation.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Bytes of all keys and values, and of what tells them apart in the log.
    pub fn byte_len(&self) -> usize {
        self.ops.byte_len()
    }

    /// The operations as the log stores them.
    pub(crate) fn ops(&self) -> &LogOps {
        &self.ops
    }

    /// What else is known of each operation.
    pub(crate) fn facts(&self) -> &[OpFacts] {
        &self.facts
    }

    pub(crate) fn expectations(&self) -> &[Expectation] {
        &self.expectations
    }

    /// The keyspaces named, each once.
    pub(crate) fn spaces(&self) -> &[Arc<Space>] {
        &self.spaces.list
    }

    /// Refuses what broke a limit.
    pub(crate) fn check_limits(&self) -> Result<()> {
        match &self.refused {
            Some(error) => Err(error.clone()),
            None => limits::check_batch(self.facts.len() as u64, self.ops.byte_len() as u64),
        }
    }
}
