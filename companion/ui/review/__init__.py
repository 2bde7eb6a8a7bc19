"""The review of a proposed edit: two views side by side, and the decision of the user.

To be read in this order:

- What there is: `record` is what a diff's views remember, `open_diffs` finds diffs.
- How a diff comes: `opening` shows a proposal in place of older ones, `pair` opens and fills its
  views, `layout` makes room for them, `large` shows parts of what is large, `restoring` takes up
  what the editor brought back.
- What is reviewed: `reviews` has a `review` of each diff and lets changes be computed, `resting`
  does so when the user stops typing.
- What is seen: `drawing` shows the `head`, with its `links`, and the changes: `marks` colours them,
  `between` makes room between lines, `sight` and `scrolling` bring them before the eyes.
- What the user does: `single_changes` are kept or dropped, `queue` goes from diff to diff with a
  `preview`, `comments` stand beside lines, `notes` go to the CLI, `conflicts` with the file are
  said and settled, `edits` saves what is typed.
- How a diff ends: `accepting` asks what is to be asked, `actions` tells the core, `ending`
  claims the diff and puts its views away, `history` undoes.

All of it runs on the editor's UI thread, unless a function says otherwise.
"""
