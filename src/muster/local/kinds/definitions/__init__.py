"""CustomResourceDefinition (apiextensions.k8s.io/v1), and the kinds that they define."""
