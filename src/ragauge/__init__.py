"""ragauge: how good is retrieval when nobody knows how many relevant documents there are."""
