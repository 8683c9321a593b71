"""The panel: local web pages that show the rules and their effect, and let a person decide."""
