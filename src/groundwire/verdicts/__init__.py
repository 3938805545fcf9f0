"""From numbers to a verdict, and from a verdict to what is done."""
