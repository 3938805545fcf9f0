"""A report as JSON, text, terminal output or a page."""
