"""Local randomizers: the step that turns a person's value into something safe to send.

Each one is a small file with its law, its privacy statement and its estimator side by side. They draw
from a `coterie.coins.Coins` handed to them and never choose a source of randomness themselves.
"""
