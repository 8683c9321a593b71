"""Group failures into incidents, and record their root causes."""
