"""How a lesson is made: solutions/ is written by hand, notebooks/ is built from it, and both are checked."""
