"""A Sublime Text 4 without a screen: the behaviour of the editor, none of its pixels.

`python -m headless` starts it. The parent process plays the editor, its child plays the plugin
host: `headless.host.current()` is the running `Editor`, and everything a front end shows or does
is reachable from there (see `headless.editor`). Plugins see only `headless/api`.
"""
