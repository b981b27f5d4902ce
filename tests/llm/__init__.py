"""Language models behind servers."""
