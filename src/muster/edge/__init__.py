"""Where objects of any dialect come in: what whoever drives the engine tells it of groups."""
