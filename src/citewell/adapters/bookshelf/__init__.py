"""The open-access books of a bookshelf server: its list, its archives, and what is taken out of them."""
