"""Work trees of agents as the user has them: how they are made and removed, and which chat or CLI
works in one. UI thread only, unless a module says otherwise.
"""
