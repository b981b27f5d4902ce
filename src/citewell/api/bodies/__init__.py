"""What is sent to the API and what comes back, as the schema describes it."""
