"""The finder of plans that ask about cells alone, `shape="tight"` in many dimensions, and its parts."""
