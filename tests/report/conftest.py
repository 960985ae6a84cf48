"""The seeded tables of `report_tables`, made once."""

import pytest
from report_tables import contest_table, correlations_table, graded_table, judged_table


@pytest.fixture(scope="session")
def correlations():
    return correlations_table()


@pytest.fixture(scope="session")
def graded():
    return graded_table()


@pytest.fixture(scope="session")
def contest():
    return contest_table()


@pytest.fixture(scope="session")
def judged():
    return judged_table()
