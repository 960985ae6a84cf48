"""Retrieval: embedders, dense and lexical scores, rankings of a knowledge base or of each query's own candidates."""

from ragauge.retrieval.bm25 import BM25
from ragauge.retrieval.dense import Dense, VectorStore
from ragauge.retrieval.embedder import EMBEDDER_NAMES, Embedder, embedder
from ragauge.retrieval.ranking import Index, Retriever, document_text, rank_collection, rank_pools
from ragauge.retrieval.retriever import retriever

__all__ = [
    "BM25",
    "EMBEDDER_NAMES",
    "Dense",
    "Embedder",
    "Index",
    "Retriever",
    "VectorStore",
    "document_text",
    "embedder",
    "rank_collection",
    "rank_pools",
    "retriever",
]
