"""No project imports: quantities, selectors, backoff, the error tree."""
