"""What only some kinds can do, a module for each: subresources beside the status, and questions that are not kept.

table       finds them; it is all that the rest of serve knows of them
call        one request for one of them
pods, budgets, namespaces, accounts, scale, reviews
"""
