"""Output formats of reports and audits: JSON, terminal, HTML, notebook, JUnit XML, Markdown."""
