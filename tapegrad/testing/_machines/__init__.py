"""State machines that grow a graph of values in a library, and hold it against a reference."""
