"""The paper's experiments: what is run, how it is counted, and the report on it."""
