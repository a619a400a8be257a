//! Accessors that are research. They enter through the registry, as an outsider would.
