"""What is promised and what it costs: guarantees, exact odds, accounting.

Everything here is arithmetic on public numbers, done in integers or rationals and rounded so that the
promise is kept: a privacy parameter is never understated.
"""
