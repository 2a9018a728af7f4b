"""Opening archives that somebody else made: kinds, limits, safe names, and reading without trust."""
