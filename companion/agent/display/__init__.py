"""Events in the form in which clients get them."""
