"""What every floor stands on: arrays, options, results, intervals, text, errors and stores."""
