"""What changed from wave to wave: groups are matched by their centers, and by no order."""

from coterie.show.changes import changes_of


def told(centers, weights, error=0.1):
    return {
        "centers": centers,
        "weights": weights,
        "errors": [error] * len(centers),
        "weight_errors": [0.05] * (len(centers) - 1) + [None],
    }


def test_groups_are_matched_over_all_waves():
    first = told([[0.0, 1.0], [1.0, 0.0]], [0.6, 0.4], error=0.4)
    second = told([[1.0, 0.2], [0.0, 1.0]], [0.5, 0.5])
    third = told([[0.0, 1.0], [1.0, 0.2]], [0.52, 0.48])
    one, other = changes_of([first, second, third], radius=2.0)
    assert one == {
        "name": "A",
        "shares": ["60% [55%, 65%]", "50%", "52% [47%, 57%]"],
        "radii": ["0.20", "0.05", "0.05"],
        "moved": ["", "0.00", "0.00"],
    }
    assert (other["name"], other["moved"]) == ("B", ["", "0.10", "0.00"])


def test_another_number_of_groups_ends_the_comparison():
    three = told([[0.0], [1.0], [2.0]], [0.3, 0.3, 0.4])
    two = told([[0.0], [1.0]], [0.5, 0.5])
    assert changes_of([], 1.0) == changes_of([two], 1.0) == changes_of([three, two], 1.0) == []
    assert [len(each["shares"]) for each in changes_of([three, two, two], 1.0)] == [2, 2]
