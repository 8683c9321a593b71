"""Ask the questions of `reflect-git review`."""
