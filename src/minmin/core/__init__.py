"""What everything else rests on: problems and how they are asked, bounds, constants, counts, vectors and arrays."""
