"""Nets of the ball, their sizes, and random subspaces, all from a public seed."""
