"""The review of a proposed edit: two views side by side, and the decision of the user.

To be read in this order:

- Its data: `record` is what a diff's views remember, `diff_kinds` has what differs between kinds,
  `open_diffs` finds diffs.
- How a diff opens: `opening` shows a proposal in place of older ones, `pair` opens and fills its
  views, `hidden` is one without tabs, which `unopened_tabs` opens later and `unopened_texts` keeps
  over a restart (`unopened_store`); `layout` makes room for them, `large` shows parts of large
  texts, `restoring` takes up diffs that the editor has restored.
- What is reviewed: `reviews` has a `review` for each diff and has its changes computed, `resting`
  does so when the user stops typing.
- What is visible: `drawing` shows the `head`, with its `links`, and the changes: `marks` colours
  them, `between` makes room between lines, `sight` and `scrolling` bring them into view.
- What the user does: `single_changes` are kept or dropped, `queue` goes from diff to diff,
  `preview` shows those of a list, `comments` are shown at lines, `notes` go to the CLI, `conflicts`
  with the file are reported and resolved, `typed_text_saver` saves what is typed.
- How a diff ends: `diff_decisions` is what the user decides. For a proposal, `accepting` asks the
  necessary questions, `actions` reports to its owner (`owners`), `ending` claims the diff and
  closes its views, `history` undoes. `written_reviews` does it for edits that are made already.

All of it runs on the editor's UI thread, unless a function says otherwise.
"""
