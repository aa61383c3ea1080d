"""Changes in, decisions out: queue, gang cycle, binding, explanations, journal.  No I/O, no clock, no chance."""
