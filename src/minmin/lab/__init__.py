"""What exists to be compared with: methods, and parts of methods, that others beat on most problems. Loaded by name."""
