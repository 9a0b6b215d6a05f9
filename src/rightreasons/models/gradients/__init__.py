"""What gradients say: attributions, Fisher information, faithfulness."""
