"""What two small models' labels are worth: every number of judge_card.md, from the recorded tables beside it.

python docs/results/judge_card.py            prints the figures
python docs/results/judge_card.py --write    puts them into judge_card.md
python docs/results/judge_card.py --sample trecdl-2019-passage OUT
                                             draws the pairs: OUT/retrieved.jsonl and OUT/people.csv, for
    ragauge judge-card OUT/retrieved.jsonl --labels OUT/people.csv --rel 2 --base-url local:1.5b --concurrency 1 \\
      --canaries 20 --record docs/results/judge_card/1.5b
    and, of the graded scale
    ragauge judge-card OUT/retrieved.jsonl --labels OUT/people.csv --rel 2 --base-url local:1.5b --concurrency 1 \\
      --scale graded --canaries 0 --repeats 0 --record docs/results/judge_card/1.5b-graded
"""

import gzip
import json
import random
import re
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from pyarrow import csv

from ragauge.cli.judge_card import judge_card_command

HERE = Path(__file__).parent
JUDGES = ("1.5b", "0.5b", "1.5b-graded")
REL = 2
SHARES = (0.1, 0.25, 0.5)
"""Of the pairs that a cheap judge settles."""

BANDS = ((1, 3), (4, 10), (11, 30), (31, 100))
"""Ranks of which two judged passages a topic are drawn."""


def main() -> None:
    if sys.argv[1:2] == ["--sample"]:
        sample(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    blocks = {name: card(name) for name in JUDGES} | {"settled": settled()}
    if sys.argv[1:] == ["--write"]:
        page = HERE / "judge_card.md"
        page.write_text(filled(page.read_text(), blocks))
    else:
        print("\n\n".join(blocks.values()))


def sample(data: Path, out: Path) -> None:
    """The BM25 run with texts, topics in random order, and NIST's grades of the drawn pairs."""
    with gzip.open(data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {record["doc_id"]: record["text"] for record in map(json.loads, lines)}
    queries = {r["query_id"]: r["text"] for r in map(json.loads, (data / "queries.jsonl").open(encoding="utf-8"))}
    rows = [line.rstrip("\n").split("\t") for line in (data / "qrels.tsv").open(encoding="utf-8")][1:]
    grades = {(query_id, doc_id): grade for query_id, doc_id, grade in rows}
    run: dict[str, list[tuple[str, float]]] = {}
    with gzip.open(data / "runs/rankllm.BM25.run.gz", "rt", encoding="utf-8") as lines:
        for query_id, _, doc_id, _, score, _ in map(str.split, lines):
            run.setdefault(query_id, []).append((doc_id, float(score)))
    rng = random.Random(2019)
    topics = sorted(run)
    rng.shuffle(topics)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "retrieved.jsonl").open("w") as retrieved, (out / "people.csv").open("w") as people:
        people.write("query_id,doc_id,label\n")
        for topic in topics:
            documents = [
                {"doc_id": doc_id, "score": score} | ({"text": texts[doc_id]} if doc_id in texts else {})
                for doc_id, score in run[topic]
            ]
            record = {"query_id": topic, "query": queries[topic], "run": "bm25", "documents": documents}
            retrieved.write(json.dumps(record) + "\n")
            for first, last in BANDS:
                judged = [
                    (rank, doc_id)
                    for rank, (doc_id, _) in enumerate(run[topic], start=1)
                    if first <= rank <= last and (topic, doc_id) in grades and doc_id in texts
                ]
                for _, doc_id in sorted(rng.sample(judged, min(2, len(judged)))):
                    people.write(f"{topic},{doc_id},{grades[topic, doc_id]}\n")


def filled(text: str, blocks: dict[str, str]) -> str:
    """The page with each block of figures behind its mark."""
    for name, block in blocks.items():
        text = re.sub(
            rf"(<!-- {re.escape(name)} -->\n```\n).*?(\n```)", lambda m, b=block: m[1] + b + m[2], text, flags=re.S
        )
    return text


def card(name: str) -> str:
    """What the command prints."""
    ran = CliRunner().invoke(
        judge_card_command, [str(HERE / "judge_card" / name), "--rel", str(REL)], catch_exceptions=False
    )
    return "\n".join(line.rstrip() for line in ran.output.strip().splitlines())


def settled() -> str:
    """If each model settled its lowest labels: what would be lost of the documents that people found relevant."""
    lines = ["judge        settles  below  pairs  relevant lost  share of settled  share of relevant"]
    for name in JUDGES:
        table = csv.read_csv(HERE / "judge_card" / name / "pairs.csv")
        label = table["label"].to_numpy(zero_copy_only=False)
        relevant = table["human"].to_numpy(zero_copy_only=False) >= REL
        for share in SHARES:
            cut = float(np.quantile(label, share))
            low = label < cut
            lost = int(relevant[low].sum())
            lines.append(
                f"{name:11}  {share:7.0%}  {cut:5.2f}  {low.sum():5}  {lost:13}  {lost / low.sum():16.0%}  "
                f"{lost / relevant.sum():17.0%}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
