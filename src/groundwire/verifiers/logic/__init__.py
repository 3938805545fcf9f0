"""A small theorem prover for evidence that states rules; loaded only where it states some."""
