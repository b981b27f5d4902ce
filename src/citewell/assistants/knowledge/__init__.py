"""A tenant's knowledge base."""
