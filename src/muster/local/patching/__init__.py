"""What a patch makes of an object.

merge       JSON patch and merge patch
strategic   the strategic merge patch
apply       server-side apply, and the upkeep of managedFields; managers are the owners that stand there
fields      sets of fields, as managedFields keeps them; diff finds them, granular merges by them
"""
