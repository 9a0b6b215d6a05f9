"""Language models behind OpenAI-compatible servers: requests, trials, costs and stored answers.

`opening.open_server` is the entry point. It tries the server (`trial`), and returns the engine
(`engine`) that sends requests by a `Client`, within limits of price and number.
"""
