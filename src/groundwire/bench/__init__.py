"""What groundwire measures of itself: speed, quality, and made-up cases with known answers."""
