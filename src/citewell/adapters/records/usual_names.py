"""What people call the measurements that are known by their codes alone."""

from __future__ import annotations

USUAL_NAMES = {
    "smoking": ("Tobacco smoking status", "Smoking status", "Tobacco use", "Smoking"),
    "8480-6": ("Systolic blood pressure", "Systolic BP"),
    "8462-4": ("Diastolic blood pressure", "Diastolic BP"),
    "8302-2": ("Height", "Body height", "Height (HT)"),
    "3141-9": ("Weight", "Body weight", "Weight (WT)"),
    "29463-7": ("Weight", "Body weight", "Weight (WT)"),
    "39156-5": ("Body mass index", "BMI"),
    "41909-3": ("Body mass index", "BMI"),
    "8867-4": ("Heart rate", "Pulse", "Pulse (HR)"),
    "9279-1": ("Respiratory rate", "Respirations", "Respiration rate", "Respirations (RR)"),
    "8310-5": ("Temperature", "Temp"),
    "2708-6": ("Oxygen saturation", "O2 saturation", "SpO2", "Pulse oximetry"),
    "2710-2": ("Oxygen saturation", "O2 saturation", "SpO2", "Pulse oximetry"),
    "59408-5": ("Oxygen saturation", "O2 saturation", "SpO2", "Pulse oximetry"),
    "8287-5": ("Head circumference",),
    "3140-1": ("Body surface area", "BSA"),
}
"""What records call vital signs and the smoking status, by their LOINC codes."""
