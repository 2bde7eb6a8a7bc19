"""The way of a request to its handler: access, TLS, the search for its route, the answer."""
