"""Real time: what is known before an answer, what shows while it is written, what holds afterwards."""
