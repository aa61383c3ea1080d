"""The only code that talks to a cluster: connection, requests, reflectors, outbox, leader election."""
