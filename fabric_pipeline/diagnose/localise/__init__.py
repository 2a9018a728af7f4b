"""Localisation: which link, out of all that erred, made the collectives slow, and how sure that is."""
