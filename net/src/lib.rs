//! Placeholder head; the map of the crate goes here.
