"""What objects may look like, as data, and the one machine that works on it.

shapes      the model: a shape for each value, with its fields, list types and patch strategies
load        shapes and facts of the built-in kinds, from package data read off a real API server
custom      shapes from a CustomResourceDefinition's schema; rules, patterns and formats are what else it demands
read        the body of a request → an object of its kind, or the words that refuse it
decode      a value → what Kubernetes would have made of it; exact and convert are its slower ways, with Go's errors
protobuf    the bodies that kubectl sends in protobuf
writing     values that were read, as Go writes them
"""
