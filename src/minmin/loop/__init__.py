"""One run of one method: the loop, when it stops, what it records, and checkpoints."""
