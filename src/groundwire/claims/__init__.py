"""From an answer to the claims it makes."""
