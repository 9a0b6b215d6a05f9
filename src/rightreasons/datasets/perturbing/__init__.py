"""Changed texts and items: confusion probes, hints, orders of choices, mirrored items, other words."""
