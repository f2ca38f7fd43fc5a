"""Events that meet a filter, searched in a recording; the filter's language is :mod:`kvarium_ledger.filtering`."""
