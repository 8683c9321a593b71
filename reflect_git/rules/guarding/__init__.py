"""Guards of rules: decide them, test them on past calls, and find rules that were broken again."""
