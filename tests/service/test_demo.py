"""`make serve-demo`: a whole study through HTTP, in processes of their own, checked from its manifest."""

import re
import subprocess
import sys

import pytest


@pytest.mark.nightly
def test_a_study_is_played_and_verified():
    command = [sys.executable, "-m", "tools.serve_demo", "--once", "--port", "0", "--people", "30000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "30,000 people encoded and sent" in done.stdout
    assert re.search(r"decoded: [345] of 5 groups", done.stdout)
    assert "recomputed from table and manifest within" in done.stdout
    assert re.search(r"look at the study: http://\S+/plans/[0-9a-f]{64}/study", done.stdout)
