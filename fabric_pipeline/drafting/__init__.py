"""Drafting: an incident record and the parts catalogue in, a complete repair ticket out.

Claude words a draft when a key is set, the rules do otherwise; either way a person reviews it.
Storing and publishing drafts belongs to `store` and `workflows`.
"""
