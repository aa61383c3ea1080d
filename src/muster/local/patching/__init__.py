"""What a patch makes of an object: merge, strategic merge, server-side apply."""
