"""Increments, exposure and quality of accepted readings, by field-guide Appendix B."""
