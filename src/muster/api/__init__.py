"""Wire objects, only the fields we use, as frozen structs; conditions and events."""
