"""Measures one question of one model: data, model and analysis in; a frozen result out. No Trainer, no HTML."""
