//! A version and edits make the next version.
