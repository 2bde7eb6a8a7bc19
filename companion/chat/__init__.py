"""A conversation with an agent as a document, without an editor: its events become text with marks,
folds and links. Its output are frozen values. It knows no view."""
