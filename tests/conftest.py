"""What all tests share."""

from hypothesis import settings

# Fixed examples, so that a check that passed passes again; no deadline, because machines are shared.
settings.register_profile("check", derandomize=True, deadline=None, database=None)
# Fresh examples every time, and more of them: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("check")
