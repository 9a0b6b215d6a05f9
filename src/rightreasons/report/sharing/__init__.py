"""An audit as others keep it: model cards, results on the hub, and Every Eval Ever."""
