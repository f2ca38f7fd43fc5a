"""The language in which somebody says which events are wanted; its twin is ``frontend/src/filter``."""
