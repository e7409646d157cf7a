"""The collector's side: take reports in, keep them, mix them.

A collector handles bytes and ids. It cannot decode: nothing from `aggregate` to `centers` is imported.
"""
