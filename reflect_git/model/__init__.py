"""What the product talks about: the shapes of records, their vocabularies and their ids."""
