"""One module per plugin: filters, scores, gang rules.  Names, messages and formulas are upstream's."""
