"""A person's record in an encrypted vault: opened and locked, imported into, asked."""
