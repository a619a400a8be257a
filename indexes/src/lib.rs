//! Kiban's point indexes: the accessor contract and the built-in accessors.
