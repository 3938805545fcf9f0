"""What an agent says it did, compared with the tool calls of the same conversation."""
