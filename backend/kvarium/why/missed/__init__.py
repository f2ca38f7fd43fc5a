"""Why did a prefix miss: docs/why.md, `missed`."""
