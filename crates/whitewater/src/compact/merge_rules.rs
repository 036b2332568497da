//! Which entries a merge drops or keeps.
