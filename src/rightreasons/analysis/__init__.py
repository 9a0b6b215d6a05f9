"""What it means: numpy and scipy kernels, one subject a file."""
