"""What exists to be compared with: methods that others beat on real problems. They are loaded by name."""
