//! Spectral's view: one line when a file is found, taken and safe.
