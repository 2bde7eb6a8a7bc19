"""The parts of a running package, in bundles: one module for each subject.

A bundle makes its parts in the order of their needs, and each part gets what it needs then.
`companion/ui/running.py` makes the bundles, in the order of theirs: `foundation`, `diff_parts`,
`chat_edit_parts`, `review_parts`, `change_parts`, `page_parts`, `chat_parts`, `tree_parts`,
`status_parts`, `editor_parts`. A bundle has `start` and `stop` where its parts need them, `polls`
for what is to be called about once a second, and `handle_close` for a view that the user closes.
"""
