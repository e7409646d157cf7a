"""The pictures are as new as what draws them."""

import pytest
from PIL import Image

from tools.pictures import IMAGES, NAMES, digest


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_not_older_than_its_source(name):
    with Image.open(IMAGES / f"{name}.png") as picture:
        assert picture.info["Source"] == digest(), "run python -m tools.pictures and look at what it drew"
