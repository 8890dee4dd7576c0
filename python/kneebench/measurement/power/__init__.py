"""Electric power: its meters are read all through a campaign; what a stretch of it holds."""
