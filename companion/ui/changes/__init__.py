"""Show Changes: the list of edits of all kinds, and the changes of many files in one view, read,
typed in and decided on there.

`change_list` is the list. Of a sheet are to be read in this order: `sources` says what a sheet
needs to know of changes, `proposal_source` and `unasked_edit_source` have them; `sheet` is one
sheet, `marking` colours it and draws its links, `deciding` does what the links say, `change_sheets`
knows all that are open, and `sheet_commands` has their keys and commands.

The texts and the decisions are those of the files' own reviews (`ui/review`): a sheet has none of
its own. All of it runs on the editor's UI thread.
"""
