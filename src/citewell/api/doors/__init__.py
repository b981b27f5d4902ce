"""Doors by standards: other programs reach Citewell by protocols they speak already, through the same guard."""
