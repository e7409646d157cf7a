"""Points and spaces: the public ball, rotations by fast Walsh-Hadamard transforms, cells.

Nothing here knows about privacy or about reports. After quantization everything is exact integer
arithmetic, so that two machines, or two languages, always find the same cell and the same ranking.
"""
