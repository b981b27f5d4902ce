"""From an interview to a signed assessment and plan: every output is a draft for a clinician."""
