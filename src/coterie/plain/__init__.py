"""Plain data, for every room that reads what others wrote: canonical JSON, small checks, whole files."""
