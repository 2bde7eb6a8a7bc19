"""The edits of files that agents propose or make, whoever they are: what was before and after, who
made them, and what became of them. Knows neither the editor nor a CLI.
"""
