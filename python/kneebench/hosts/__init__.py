"""Room: other machines, and what runs there."""
