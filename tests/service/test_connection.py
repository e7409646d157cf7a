"""What a connection answers to what it cannot read."""

import pytest

from coterie.service.connection import limited_protocol
from coterie.service.settings import Settings

SETTINGS = Settings(data="anywhere", most_header=2048)


@pytest.mark.parametrize(("header_bytes", "answer"), [(2048, "malformed-request"), (2049, "large-header")])
def test_a_header_is_too_large_only_beyond_the_most_that_is_taken(header_bytes, answer):
    refused = []

    class Connection(limited_protocol(SETTINGS)):
        def __init__(self):
            self.header_bytes, self.cycle = header_bytes, None

        def refuse(self, problem):
            refused.append(problem.kind)

    Connection().send_400_response("")
    assert refused == [answer]
