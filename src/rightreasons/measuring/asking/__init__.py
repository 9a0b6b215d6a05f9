"""What any scorer shows when it is asked again: left-out words, a left-out input, other distractors, picks alone."""
