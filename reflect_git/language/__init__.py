"""Read sentences: parse them, compare their meaning, and choose the wording of a rule."""
