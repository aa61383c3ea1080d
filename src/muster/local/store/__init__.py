"""What is kept: the objects and their history in memory, the log on disk."""
