//! Keys from the command line or, a line each, from standard input.

use std::sync::Arc;

use crate::args::Operand;
use crate::exit::Failure;
use crate::input::{Format, Origin, Reader, Record, Spec};

/// Keys of one call to the store.
const CHUNK_KEYS: usize = 1_000;

/// The keys of a command, in chunks.
pub(super) enum Keys {
    /// From the command line, all in one chunk.
    Given(Option<Vec<Vec<u8>>>),
    /// From standard input.
    Stdin(Box<Reader>),
}

impl Keys {
    /// `-` alone stands for standard input.
    pub(super) fn new(operands: &[Operand]) -> Result<Self, Failure> {
        if operands == [Operand::Stdin] {
            return stdin();
        }
        let bytes = |operand: &Operand| match operand {
            Operand::Bytes(bytes) => Ok(bytes.clone()),
            Operand::Stdin => Err(Failure::usage("`-` stands alone; the key `-` is written `hex:2d`")),
        };
        Ok(Self::Given(Some(operands.iter().map(bytes).collect::<Result<_, _>>()?)))
    }

    /// The next keys, or `None` at the end.
    pub(super) fn next_chunk(&mut self) -> Result<Option<Vec<Vec<u8>>>, Failure> {
        let reader = match self {
            Self::Given(keys) => return Ok(keys.take()),
            Self::Stdin(reader) => reader,
        };
        let mut keys = Vec::new();
        let mut record = Record::default();
        while keys.len() < CHUNK_KEYS {
            match reader.next(&mut record) {
                Ok(true) => keys.push(std::mem::take(&mut record.key)),
                Ok(false) => break,
                Err(error) => return Err(error.into_failure(&Origin::Stdin.name())),
            }
        }
        Ok(Some(keys).filter(|keys| !keys.is_empty()))
    }
}

fn stdin() -> Result<Keys, Failure> {
    let spec = Spec { origin: Origin::Stdin, format: Some(Format::Lines), key: None, value: None };
    let reader = spec.open(false, &Arc::default());
    let reader = reader.map_err(|error| error.into_failure(&Origin::Stdin.name()))?;
    Ok(Keys::Stdin(Box::new(reader)))
}
