"""What can be asked over HTTP, a file a subject; `ROUTERS` in `app.py` lists them."""
