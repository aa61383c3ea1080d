"""The plugin contract, profiles, and what a profile makes of the cluster for one pod class."""
