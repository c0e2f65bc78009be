"""What the paper names beside its own method: rivals, relatives and extensions of BAM, counted like its experiments."""
