"""Providers' batch APIs: many requests handed in together, answered within a day, at half price.

The one thing to know: nothing here is imported with the room, since it needs the HTTP client;
`open_batches` is.
"""
