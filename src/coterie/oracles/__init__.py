"""What reports say: counts and vector sums, each with its noise level.

An oracle's answer is unbiased and carries its own variance, so that whatever reads it can tell signal from
noise. Nothing here decides anything; that is the business of `coterie.tree` and `coterie.centers`.
"""
