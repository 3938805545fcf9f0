"""Files to text. HTML, PDF, Word and large tables are read in a process of their own, with limits."""
