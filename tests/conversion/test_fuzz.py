"""Some files of the fuzzer, as in `make fuzz`, where there are many more."""

from __future__ import annotations

from tests.conversion.fuzz import make_file, read_all


def test_damaged_files_are_read_or_refused_in_time() -> None:
    results = read_all(iter(range(300)))
    assert [found for result in results.values() for found in result.violations] == []
    assert all(result.outcomes["read"] for result in results.values())  # it is not all garbage


def test_a_seed_is_a_file() -> None:
    assert make_file(7) == make_file(7)
    assert make_file(7) != make_file(8)
