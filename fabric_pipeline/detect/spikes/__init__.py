"""Error spikes: which link ends counted more errors than they should, when, and by which rule."""
