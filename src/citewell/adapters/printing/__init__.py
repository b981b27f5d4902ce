"""Printing: what Citewell writes as pages."""
