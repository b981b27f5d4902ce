"""Record systems (EHRs) that open a patient here by SMART App Launch."""
