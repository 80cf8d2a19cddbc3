"""How it is minimised: outer loops, inner minimisers, orders and parent selection."""
