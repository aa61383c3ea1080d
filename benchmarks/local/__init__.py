"""The embedded API server beside the real one: creates, binds, watchers, lists, memory."""
