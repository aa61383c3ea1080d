"""What objects may look like, as data, and the one machine that works on it.

shapes      the model: a shape for each value, with its fields, list types and patch strategies
load        shapes of the built-in kinds, from package data read off a real API server
custom      shapes from a CustomResourceDefinition's schema; rules are what else such a schema demands
read        the body of a request → an object of its kind, or the words that refuse it
decode      a value → what Kubernetes would have made of it; exact and convert are its slower ways, with Go's errors
forms       quantities, times and the like in their one form
syntax      JSON as Go reads it, yamltext YAML, protobuf the bodies that kubectl sends in protobuf
merge       JSON patch and merge patch, strategic the strategic merge patch
fields      sets of fields, as managedFields keeps them; diff finds them, granular merges by them
apply       server-side apply, and the upkeep of managedFields; managers are their owners
openapi     the documents that kubectl asks for
gotext      values as Go prints them
"""
