"""Turn repeated work into skills: find it, draft a SKILL.md, check it, deploy it, and count its uses."""
