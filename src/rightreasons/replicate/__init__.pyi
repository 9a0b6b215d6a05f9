from .runner import replicate as replicate

__all__ = ["replicate"]
