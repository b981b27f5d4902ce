"""A person's clinical facts: read from FHIR bundles and C-CDA documents, kept in SQL, written as FHIR again."""
