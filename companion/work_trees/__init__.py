"""Work trees of git that agents have for themselves: how they are made, what was changed in them,
and how they are removed. Knows neither the editor nor an agent.
"""
