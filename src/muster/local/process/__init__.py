"""Start, HTTP, identity: what makes the server a process."""
