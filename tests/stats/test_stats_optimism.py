"""The maximum over alpha after the choice is paid for: bootstrap, folds, other data sets."""

from math import isnan

import numpy as np
import pytest
from alpha_families import f, one_row_a_state, t_count

from ragauge.errors import InputError
from ragauge.stats import (
    AlphaSearch,
    QueryCells,
    associate,
    corrected_maximum,
    cross_validated,
    leave_one_group_out,
)

GRADES = np.arange(1.0, 6)


def study(rng, n, *, truth="none", free=True):
    """n queries of one row: N_p 2..15, K free or N_p, hits overdispersed, the grade steps of a noisy latent."""
    N = rng.integers(2, 16, n)
    K = rng.choice([3, 5, 10, 20], n) if free else N
    hits = rng.binomial(np.minimum(K, N), rng.beta(2, 2, n))
    latent = {"none": 0 * hits, "recall": 2.5 * hits / N, "three hits": np.minimum(hits, 3.0)}[truth]
    centre = {"none": 0.0, "recall": 1.0, "three hits": 1.7}[truth]
    scale = 1.0 if truth == "none" else np.sqrt(2.0)
    grade = 1 + np.searchsorted([-1.2, -0.4, 0.4, 1.2], (latent - centre + rng.normal(size=n)) / scale)
    return hits, K, N, grade


def prepared(family, grade, queries=None):
    """The search and the cells of each query, one state a row merged into the distinct ones."""
    _, first, state = np.unique(parameters(family), axis=0, return_index=True, return_inverse=True)
    search = AlphaSearch.of(family.of(first), GRADES)
    cell = state.reshape(-1) * len(GRADES) + np.asarray(grade) - 1
    query = np.arange(len(cell)) if queries is None else np.asarray(queries)
    return search, QueryCells.of(cell, query, len(first) * len(GRADES))


def corrected(family, grade, *, n_draws=200, seed=0, names=("spearman",), queries=None):
    search, cells = prepared(family, grade, queries)
    return corrected_maximum(search, cells, names=names, n_draws=n_draws, rng=np.random.default_rng(seed))


def parameters(family):
    """The three numbers of each state, a row a state."""
    return np.stack([family.start, family.end, family.scale], axis=1)


def by_hand(family, grade, draws):
    """Apparent maximum and optimism over the same positions, by `associate` on rows drawn with replacement."""
    alphas = AlphaSearch.of(family, GRADES).alphas
    values = family.at(alphas)

    def curve(rows):
        return np.array([associate(v[rows], grade[rows]).spearman for v in values])

    whole, gains = curve(np.arange(len(grade))), []
    chosen = np.flatnonzero(whole >= np.nanmax(whole) - 1e-12)[0]
    for rows in draws:
        one = curve(rows)
        best = np.flatnonzero(one >= np.nanmax(one) - 1e-12)[0]
        gains.append(one[best] - whole[best] - (one[chosen] - whole[chosen]))
    return np.nanmax(whole), np.mean(gains)


def test_corrected_value_is_the_definition_on_rows():
    # queries of the same cell are drawn together, so that the draws of rows are made from the same multinomials
    rng = np.random.default_rng(1)
    hits, K, _, grade = study(rng, 25)
    family = t_count(hits, K)
    search, cells = prepared(family, grade)
    drawn = cells.draws(40, np.random.default_rng(7), batch=1)
    number = {tuple(state): i for i, state in enumerate(parameters(search.family))}
    cell = [number[tuple(state)] * 5 + g - 1 for state, g in zip(parameters(family), grade, strict=True)]
    row_of_cell = dict(zip(reversed(cell), reversed(range(len(cell))), strict=True))
    draws = [np.repeat(list(row_of_cell.values()), batch[list(row_of_cell), 0].astype(int)) for batch in drawn]
    apparent, optimism = by_hand(family, grade, draws)
    found = corrected_maximum(search, cells, names=["spearman"], n_draws=40, rng=np.random.default_rng(7))["spearman"]
    assert found.apparent == pytest.approx(apparent, abs=1e-12)
    assert found.optimism == pytest.approx(optimism, abs=1e-12)
    assert found.value == pytest.approx(apparent - optimism, abs=1e-12)
    assert found.low < found.value < found.high


def test_alpha_that_cannot_matter_has_no_optimism():
    rng = np.random.default_rng(2)
    hits, K, N, grade = study(rng, 60, truth="recall", free=False)
    found = corrected(f(hits, K, N), grade)["spearman"]
    assert found.optimism == pytest.approx(0, abs=1e-12)
    assert (found.value, found.alpha) == (pytest.approx(found.apparent), 0.5)


def test_optimism_is_positive_without_any_association_and_the_same_for_one_seed():
    rng = np.random.default_rng(3)
    hits, K, _, grade = study(rng, 80)
    one, other = (corrected(t_count(hits, K), grade, seed=5) for _ in range(2))
    assert one == other
    assert one["spearman"].optimism > 0.01


def test_replicates_do_not_depend_on_how_many_are_drawn_at_once():
    _, cells = prepared(t_count(np.array([1, 2, 3, 1]), np.array([4, 5, 6, 4])), [1, 2, 3, 1])
    parts = [
        np.concatenate(list(cells.draws(10, np.random.default_rng(0), batch=batch)), axis=1) for batch in (1, 3, 10)
    ]
    assert (parts[0] == parts[1]).all()
    assert (parts[0] == parts[2]).all()
    assert (parts[0].sum(0) == 4).all()


def test_rows_of_one_query_are_drawn_together():
    _, cells = prepared(t_count(np.array([1, 2, 3, 1]), np.array([4, 5, 6, 4])), [1, 2, 3, 1], [0, 0, 1, 1])
    drawn = np.concatenate(list(cells.draws(50, np.random.default_rng(0))), axis=1)
    # three cells are taken: (1, 4) of grade 1 twice, once in each query, beside one cell of each query's own
    assert cells.n_queries == 2
    taken = sorted(set(map(tuple, drawn[drawn.sum(1) > 0].T.astype(int).tolist())))
    assert sorted(map(sorted, taken)) == [[0, 2, 2], [0, 2, 2], [1, 1, 2]]


def test_all_coefficients_are_corrected_at_once():
    rng = np.random.default_rng(4)
    hits, K, N, grade = study(rng, 60, truth="recall")
    for family in (t_count(hits, K), f(hits, K, N)):
        for name, found in corrected(family, grade, names=("spearman", "pearson", "tau_b", "tau_c", "gamma")).items():
            assert found.value < found.apparent, name
            assert found.low < found.value < found.high, name
            assert (found.n_draws, found.n_undefined, found.reason) == (200, 0, "")


@pytest.mark.parametrize(
    ("grade", "reason"),
    [([2] * 8, "undefined on the data"), ([2, 2, 2, 2, 2, 2, 2, 3], "undefined in "), ([1, 2, 3, 4], "4 queries; ")],
)
def test_what_cannot_be_corrected_says_why(grade, reason):
    hits, K = np.arange(len(grade)) % 4, np.arange(len(grade)) % 3 + 4
    found = corrected(t_count(hits, K), grade)["spearman"]
    assert found.reason.startswith(reason)
    assert isnan(found.low)


def test_cross_validation_chooses_on_the_other_folds():
    # two folds of two queries: each fold's alpha is the best of the other's table, by `select`
    rng = np.random.default_rng(6)
    hits, K, _, grade = study(rng, 40, truth="recall")
    search, cells = prepared(t_count(hits, K), grade)
    found = cross_validated(search, cells, names=["tau_b"], rng=np.random.default_rng(1), n_folds=2)["tau_b"]
    first, second = cells.folds(2, np.random.default_rng(1)).T.reshape(2, -1, len(GRADES), 1)
    for part, alpha, own, other in zip(found.parts, found.alphas, (first, second), (second, first), strict=True):
        chosen = search.select(other, own, ["tau_b"])["tau_b"]
        assert (part, alpha) == (chosen.tested[0], chosen.alpha[0])
    assert found.value == pytest.approx(np.tanh(np.arctanh(found.parts).mean()))


def test_folds_part_the_queries():
    _, cells = prepared(t_count(np.array([1, 2, 3, 1, 1]), np.array([4, 5, 6, 4, 4])), [1, 2, 3, 1, 1])
    folds = cells.folds(3, np.random.default_rng(0))
    assert (folds.sum(1) == cells.total).all()
    assert sorted(folds.sum(0).tolist()) == [1, 2, 2]


def test_a_data_set_left_out_has_its_coefficient_at_the_alpha_of_the_others():
    # two data sets on the same three states, T of (n, K) = (2, 4), (3, 10), (0, 4): by count the second leads, by P the
    # first. Grades of the first data set follow the count, of the second P: each is worse off with the other's choice
    family = t_count([2, 3, 0], [4, 10, 4])
    by_count, by_precision = one_row_a_state([2, 3, 1])[1], one_row_a_state([3, 2, 1])[1]
    search = AlphaSearch.of(family, np.arange(1.0, 4))
    found = leave_one_group_out(search, np.stack([by_count, by_precision], axis=2), names=["tau_b"])["tau_b"]
    assert found.parts == pytest.approx((1 / 3, 1 / 3))  # one of three pairs the wrong way: (2 - 1) / 3
    assert search.select(*[by_count[:, :, None]] * 2, ["tau_b"])["tau_b"].trained[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, c, r: corrected_maximum(s, c, names=["tau_b"], n_draws=0, rng=r), "must be 1 or more, got 0"),
        (lambda s, c, r: cross_validated(s, c, names=["tau_b"], rng=r, n_folds=9), "no more than the 4 queries, got 9"),
        (lambda s, c, r: leave_one_group_out(s, np.ones((3, 5, 1)), names=["tau_b"]), "needs 2 or more, got 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, message):
    search, cells = prepared(t_count(np.array([1, 2, 3, 1]), np.array([4, 5, 6, 4])), [1, 2, 3, 1])
    with pytest.raises(InputError, match=message):
        call(search, cells, np.random.default_rng(0))


def truth_over_alpha(family_of, rng, **design):
    """Spearman of the population at each alpha of a fine grid, from 300,000 rows; 0 without association."""
    hits, K, N, grade = study(rng, 300_000, **design)
    search, cells = prepared(family_of(hits, K, N), grade)
    grid = AlphaSearch.of(search.family, GRADES, np.linspace(0, 1, 1001))
    weights = cells.total.reshape(len(search.family.scale), len(GRADES), 1)
    curve = grid.curves(weights, ["spearman"])["spearman"][:, 0]
    ascending = np.argsort(grid.alphas)
    return grid.alphas[ascending], curve[ascending] * (design["truth"] != "none")


DESIGNS = {
    "F, K free, no association": (f, {"truth": "none"}),
    "T, K free, no association": (lambda n, K, N: t_count(n, K), {"truth": "none"}),
    "T, K = N_p, no association": (lambda n, K, N: t_count(n, K), {"truth": "none", "free": False}),
    "F, K free, recall": (f, {"truth": "recall"}),
    "T, K = N_p, three hits": (lambda n, K, N: t_count(n, K), {"truth": "three hits", "free": False}),
}


def simulate(name, n, runs, n_draws=200, seed=11):
    """Mean error of the apparent and the corrected value, and the share of intervals that hold the true one."""
    family_of, design = DESIGNS[name]
    alphas, truth = truth_over_alpha(family_of, np.random.default_rng(5), **design)
    rng = np.random.default_rng(seed)
    errors, hits = [], 0
    for run in range(runs):
        n_p, K, N, grade = study(rng, n, **design)
        found = corrected(family_of(n_p, K, N), grade, n_draws=n_draws, seed=run)["spearman"]
        true = np.interp(found.alpha, alphas, truth)
        errors.append((found.apparent - true, found.value - true))
        hits += found.low <= true <= found.high
    apparent, value = np.array(errors).T
    return {
        "apparent": apparent.mean(),
        "corrected": value.mean(),
        "error": value.std() / runs**0.5,
        "rmse apparent": np.sqrt((apparent**2).mean()),
        "rmse corrected": np.sqrt((value**2).mean()),
        "coverage": hits / runs,
    }


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("name", DESIGNS)
def test_correction_takes_most_of_the_optimism_away_and_the_interval_covers(name, n):
    found = simulate(name, n, 400)
    slack = 4 * found["error"]
    # published of the apparent value: +.016 to +.070 at n = 50, +.003 to +.039 at 200 (49 alphas; all alphas are more)
    assert found["apparent"] > 0 or n > 50
    assert abs(found["corrected"]) < {50: 0.03, 200: 0.012}[n] + slack
    assert abs(found["corrected"]) < found["apparent"] + slack
    assert found["coverage"] == pytest.approx(0.95, abs=0.044)  # 4 standard errors of 400 runs


@pytest.mark.slow
def test_cross_validation_has_little_bias():
    # published: within .02 at n = 50, below .01 at 200
    family_of, design = DESIGNS["F, K free, no association"]
    rng, values = np.random.default_rng(12), []
    for run in range(400):
        n_p, K, N, grade = study(rng, 200, **design)
        search, cells = prepared(family_of(n_p, K, N), grade)
        found = cross_validated(search, cells, names=["spearman"], rng=np.random.default_rng(run))
        values.append(found["spearman"].value)
    assert np.mean(values) == pytest.approx(0, abs=0.01 + 4 * np.std(values) / 20)
