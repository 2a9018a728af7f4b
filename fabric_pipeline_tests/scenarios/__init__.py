"""The 18 scenarios of the field guide's Appendix C, each read and judged from files of its own."""
