"""What comes in: tables as moments, prior knowledge, simulated and bundled data."""
