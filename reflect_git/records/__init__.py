"""Records: their fields and allowed values, ids, file formats, and the state computed from them."""
