"""What a person sees: pages rendered on the server, styles, and small ES modules."""
