"""The commands, by what they are about: measuring, plans, results. `cli` puts them together."""
