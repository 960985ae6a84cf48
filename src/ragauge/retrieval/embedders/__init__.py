"""One module an embedder; `ragauge.retrieval.embedder` makes them by name and loads only the one that is asked for."""
