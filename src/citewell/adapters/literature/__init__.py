"""PubMed, Europe PMC and reference managers: clients, and their records as articles."""
