//! The formats that a store knows.

use std::fmt;
use std::sync::Arc;

use crate::contract::{AccessorFormat, FormatId};

/// Ids below this are Kiban's own.
const OWN_IDS: u32 = 1 << 16;
/// Extensions that a format cannot have: files of a store have them.
const TAKEN_NAMES: [&str; 6] = ["sst", "log", "tmp", "lock", "current", "manifest"];

/// Why a format cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryError(String);

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegistryError {}

/// Formats by name and by id.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    own: Vec<Arc<dyn AccessorFormat>>,
    plugins: Vec<Arc<dyn AccessorFormat>>,
}

impl Registry {
    /// Kiban's own formats.
    pub fn built_in() -> Self {
        Self { own: crate::built_in(), plugins: Vec::new() }
    }

    /// Adds a format of somebody else.
    ///
    /// # Errors
    /// A name that is not allowed, an id of Kiban's own, a name or an id that is taken.
    pub fn register(&mut self, format: Arc<dyn AccessorFormat>) -> Result<(), RegistryError> {
        let (name, id) = (format.name(), format.id());
        let refuse = |why: String| Err(RegistryError(told(name, &why)));
        check_own(&*format).map_err(|why| RegistryError(told(name, &why)))?;
        if self.by_name(name).is_some() {
            return refuse("there is one of this name".to_owned());
        }
        if let Some(other) = self.by_id(id) {
            return refuse(format!("`{}` has its id {id}", other.name()));
        }
        self.plugins.push(format);
        Ok(())
    }

    /// The format of this name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<dyn AccessorFormat>> {
        self.formats().find(|format| format.name() == name)
    }

    /// The format of this id.
    pub fn by_id(&self, id: FormatId) -> Option<&Arc<dyn AccessorFormat>> {
        self.formats().find(|format| format.id() == id)
    }

    /// Whether it is one of somebody else, whose promises are checked now and then.
    pub fn is_plugin(&self, id: FormatId) -> bool {
        self.plugins.iter().any(|format| format.id() == id)
    }

    /// All formats, Kiban's own first.
    pub fn formats(&self) -> impl Iterator<Item = &Arc<dyn AccessorFormat>> {
        self.own.iter().chain(&self.plugins)
    }
}

/// A sentence about a format.
fn told(name: &str, why: &str) -> String {
    format!("index format `{}`: {why}", name.escape_debug())
}

/// Whether name and id are allowed to somebody else.
fn check_own(format: &dyn AccessorFormat) -> Result<(), String> {
    if !is_name(format.name()) {
        return Err(format!("a name is [a-z][a-z0-9_]{{1,15}} and none of {}", TAKEN_NAMES.join(", ")));
    }
    if format.id().0 < OWN_IDS {
        return Err(format!("ids below {OWN_IDS} are Kiban's own: take `FormatId::of_name`"));
    }
    Ok(())
}

/// Whether name and id are allowed to a format, be it Kiban's own or not.
#[cfg(any(test, feature = "conformance"))]
pub(crate) fn check_name(format: &dyn AccessorFormat) -> Result<(), String> {
    let (name, id) = (format.name(), format.id());
    let is_built_in = crate::built_in().iter().any(|own| (own.name(), own.id()) == (name, id));
    if is_built_in { Ok(()) } else { check_own(format).map_err(|why| told(name, &why)) }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
    let rest = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    first && rest && (2..=16).contains(&name.len()) && !TAKEN_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use kiban_formats::FormatError;

    use super::*;
    use crate::{Accessor, AccessorBuilder, AccessorFile, Declined, Params, Plan, Residency, TableShape};

    #[derive(Debug)]
    struct Named(&'static str, u32);

    impl AccessorFormat for Named {
        fn id(&self) -> FormatId {
            FormatId(self.1)
        }
        fn name(&self) -> &str {
            self.0
        }
        fn plan(&self, _: &TableShape, _: &Params) -> Plan {
            Plan::Scan
        }
        fn builder(&self, _: &TableShape, _: &Params, _: u64) -> Result<Box<dyn AccessorBuilder>, Declined> {
            Err(Declined::new("never"))
        }
        fn open(&self, _: AccessorFile, _: Residency) -> Result<Accessor, FormatError> {
            Err(FormatError::invalid("none", 0, "never"))
        }
    }

    #[test]
    fn outsiders_have_their_own_ids() {
        let id = FormatId::of_name("acme_trie");
        assert!(id.0 >= 1 << 31);
        assert_ne!(id, FormatId::of_name("acme_trif"));
    }

    #[test]
    fn a_name_or_an_id_that_is_taken_or_not_allowed_is_refused() {
        let mut registry = Registry::built_in();
        registry.register(Arc::new(Named("acme", 1 << 20))).unwrap();
        assert!(registry.by_name("acme").is_some() && registry.by_id(FormatId(1 << 20)).is_some());
        assert!(registry.is_plugin(FormatId(1 << 20)));
        let long = "a2345678901234567";
        for (name, id) in [
            ("acme", 1 << 21),
            ("other", 1 << 20),
            ("mine", 9),
            ("sst", 1 << 22),
            ("current", 1 << 22),
            ("a", 1 << 22),
            ("", 1 << 22),
            ("Acme", 1 << 22),
            ("9a", 1 << 22),
            ("a-b", 1 << 22),
            (long, 1 << 22),
        ] {
            assert!(registry.register(Arc::new(Named(name, id))).is_err(), "{name} {id}");
        }
        registry.register(Arc::new(Named(&long[..16], 1 << 22))).unwrap();
    }
}
