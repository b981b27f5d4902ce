"""The small language model that Citewell reads with: all-MiniLM-L6-v2, its weights, its tokens and a run in numpy."""
