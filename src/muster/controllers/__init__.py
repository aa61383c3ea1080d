"""What a cluster's own controllers do for Kubernetes' PodGroups, done for custom ones."""
