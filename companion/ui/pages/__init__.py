"""Pages, which are tabs of HTML: they show the present state, and have links."""
