"""Work trees of agents as the user has them: how they are made and removed, which chat or CLI works
in one, and what was changed there. UI thread only, unless a module says otherwise.

Of the changes, `tree_lists` knows what there are and what the user has decided on; `tree_reviews`
opens the review of a file, and `tree_owner` hears the decision and writes into the user's own
files, of which `undone_decisions` takes back what the user undoes; `tree_source` is what the sheet
of all changes sees of that, `closed_files` decides there on files without a review, and `sides` is
what is read of a file. `variant_texts` merges what several agents made of one file.
"""
