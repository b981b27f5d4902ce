"""Clinical guidelines that apply themselves to a patient: rules read from the library, compared with a record."""

TAG = "guideline"
"""Documents with this tag are read as guidelines."""
PUBLIC = "public"
