"""The built-in kinds: `kind` is what a row is, `rows` has them all, the others hold what is particular to each."""
