#!/bin/sh
# Starts an X server without hardware and a window manager on it: tools/start_screen.sh :99
# Returns once a window can be opened there; both go on in the background.
set -eu
display=$1
Xvfb "$display" -screen 0 1280x1024x24 +extension GLX >/dev/null 2>&1 &
tries=0
until xdpyinfo -display "$display" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "No X server at $display after ten seconds" >&2; exit 1; }
    sleep 0.1
done
DISPLAY=$display icewm >/dev/null 2>&1 &
tries=0
# A window manager names itself at the root window once it takes windows.
until xprop -display "$display" -root _NET_SUPPORTING_WM_CHECK 2>/dev/null | grep -q 0x; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "No window manager at $display after ten seconds" >&2; exit 1; }
    sleep 0.1
done
