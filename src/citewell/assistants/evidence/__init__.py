"""Literature by care journey."""
