"""The review of a proposed edit: two views side by side, and the decision of the user.

To be read in this order:

- What there is: `record` is what a diff's views remember, `lookup` finds diffs.
- How a diff comes: `opening` shows a proposal in place of older ones, `pair` opens and fills its
  views, `layout` makes room for them, `large` shows parts of what is large, `restoring` takes up
  what the editor brought back.
- What is reviewed: `reviews` has a `review` of each diff and lets changes be computed, `resting`
  does so when the user stops typing.
- What is seen: `drawing` shows the `head`, with its `links`, and the changes: `marks` colours them,
  `between` makes room between lines, `sight` and `scrolling` bring them before the eyes, `status`
  counts diffs in the status bar.
- What the user does: `changes` are dealt with one by one, `queue` goes from diff to diff with a
  `preview`, `comments` stand beside lines, `notes` go to the CLI, `conflicts` with the file are
  said and settled, `edits` saves what is typed.
- How a diff ends: `accepting` asks what is to be asked, `actions` tells the core, `decisions`
  claims the diff and puts its views away, `history` undoes.

All of it runs on the editor's UI thread, unless a function says otherwise.
"""
