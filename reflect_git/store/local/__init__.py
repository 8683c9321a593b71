"""Local state of this machine, no records: session state, questions, projects, usage."""
