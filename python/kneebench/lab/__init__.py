"""Room 2: the machine, prepared and put back."""
