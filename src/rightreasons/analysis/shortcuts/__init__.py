"""Does a model decide by shortcuts? LMI, shortcut reliance, null models and the trade-off."""
