"""Virtual time: drives the engine with scenarios and faults, and reports what happened."""
