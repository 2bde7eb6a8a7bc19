"""Files and commands on this machine, uploaded files, and the files of the web page."""
