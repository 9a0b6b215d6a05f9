"""Does the data hand out cues? Cue statistics, a classifier of cues alone, Easy and Hard."""
