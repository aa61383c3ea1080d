"""The life of an object: admission, owners of fields, finalizers, definitions that make kinds, expiry."""
