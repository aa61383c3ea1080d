"""JSON and YAML as Go reads and writes them, and the forms of numbers, times and quantities."""
