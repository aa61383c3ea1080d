"""What is wrong with an object, field by field: names, metadata, and the words for it."""
