"""What objects may look like, as data, and the one way in which they are read by it.

shapes      the model: a shape for each value, with its fields, list types and patch strategies
load        shapes and facts of the built-in kinds, from package data read off a real API server
custom      shapes from a CustomResourceDefinition's schema; rules, patterns and formats are what else it demands
decoding    the body of a request, a patched object, any value → an object of its kind, or what is wrong with it
structs     what decoding does for built-in kinds: a reader for each shape, as Go's structs would have it
protobuf    the bodies that kubectl sends in protobuf
"""
