"""Fixes: the edits that rules propose, and how they are applied to a text."""
