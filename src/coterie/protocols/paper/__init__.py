"""The paper's own protocols: net trees, net trees by shares, trees of locality-sensitive hashes.

Whoever carries on the product need not open this folder.
"""
