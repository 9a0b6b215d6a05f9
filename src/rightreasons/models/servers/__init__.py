"""Language models behind OpenAI-compatible servers: tried first, then asked with several requests in flight."""
