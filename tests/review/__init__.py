"""Tests of ffnlib.review."""
