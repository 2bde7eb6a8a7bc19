"""Files and commands of the machine, files that are uploaded, and those of the web page."""
