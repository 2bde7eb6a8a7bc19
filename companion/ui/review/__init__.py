"""The review of a proposed edit: two views side by side, and the decision of the user.

`record` is what a diff's views remember, `lookup` finds diffs, `layout` makes room for them, `head`
draws name and links, `pair` opens and fills the two views, `opening` replaces older diffs,
`restoring` takes up what the editor brought back, `edits` saves what is typed, `decisions` ends a
diff and `actions` tells the core. `reviews` knows the changes of each diff, `marks` draws them,
`sight` shows them, `changes` is what the user does with one.
All of it runs on the editor's UI thread, unless a function says otherwise.
"""
