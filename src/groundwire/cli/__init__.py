"""The doors: everything a user touches."""
