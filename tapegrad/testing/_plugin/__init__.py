"""The pytest plugin: options, a marker and fixtures, and what they do."""
