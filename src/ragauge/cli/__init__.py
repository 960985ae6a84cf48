"""The command line: each file parses, calls the library, and prints."""
