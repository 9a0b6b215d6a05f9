"""What any scorer shows when it is asked again, without gradients: words left out, and the input left out."""
