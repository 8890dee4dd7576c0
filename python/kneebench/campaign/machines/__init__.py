"""The machine that the databases run on: this one, or a database host by ssh."""
