"""The HTTP routes, one module per subject; `ROUTERS` in `app.py` lists them."""
