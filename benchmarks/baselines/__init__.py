"""What a reader would compare with: small honest implementations of other ways to the k centers.

Every baseline is a function from points in the unit ball to centers. They are simulations: noise comes from a
seeded generator and points lie in the open, so nothing here may be used on people's data.
"""
