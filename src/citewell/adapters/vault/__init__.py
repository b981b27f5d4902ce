"""One encrypted file per profile: its keys, the folder that holds it, and how it is opened."""
