"""The middleware stack, outermost first. All are pure ASGI so that streaming responses are not buffered."""
