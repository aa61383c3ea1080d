"""Texts as Go reads and writes them.

syntax      JSON; values is what it says
yamltext    YAML
forms       quantities, times and the like in their one form
gotext      values as Go prints them
"""
