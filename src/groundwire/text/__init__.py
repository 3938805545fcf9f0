"""What can be read off plain text without a model."""
