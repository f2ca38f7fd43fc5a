"""The language in which somebody says which events are wanted; its twin is ``frontend/src/filter``.

:mod:`.reading` reads a filter of events, which a server applies to a recording; :mod:`.predicates` reads what an engine is to
stop at, in the same terms and some of its own.
"""
