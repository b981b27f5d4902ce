"""What is done to a whole library: backed up, moved, calibrated, filled from a bookshelf, read by workers."""
