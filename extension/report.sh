# Passes what Claude Code reports at one of its events to Sublime Text, and prints the answer:
#
#   sh report.sh PID VERSION <REPORT
#
# PID is the CLI's process, VERSION that of the plugin. There is no port and no secret: an editor has
# a folder in the CLI's home that only this user can enter, and reads the pipe `calls` in it. A hook
# makes two pipes of its own there, announces itself in a line, sends the report and a zero byte by
# the one, and gets a line by the other. That is an object of JSON, or `no` from an editor that has
# no window for this CLI.
#
# If there is no editor, or it does not answer, this ends well and prints nothing: the CLI works as
# it does without the plugin. It ends within a second of the end of the editor, within two of its
# restart, after 5 seconds if the editor does not take the report, and after 10 in any case. Of the
# environment only HOME, CLAUDE_CONFIG_DIR and GEMINI_COMPANION_CHAT are read.

exec 2>/dev/null
umask 077
# In a chat of the editor, all that is told and asked stands there.
[ -z "$GEMINI_COMPANION_CHAT" ] || exit 0

cli=$1 version=$2 count=0

# Whether nobody else can have made the folder, or what is in it, and its editor runs.
is_served() {
  editor=${1##*/gemini-companion-}
  editor=${editor%.hooks}
  [ -p "$1/calls" ] && [ ! -L "$1" ] && [ -O "$1" ] && kill -0 "$editor" || return 1
  case $(ls -ldn "$1") in drwx------*) ;; *) return 1 ;; esac
}

# Ends the wait for the answer when the editor has ended or takes too long.
watch_editor() {
  trap 'kill "$pause"; exit' TERM
  seconds=0 looks=0
  while [ "$seconds" -lt 10 ]; do
    sleep 1 &
    pause=$!
    wait "$pause"
    seconds=$((seconds + 1))
    kill -0 "$editor" && kill -0 $$ && [ -p "$1/calls" ] || break
    # After an answer there is no second look: the editor has made its folder anew.
    [ -p "$pipe.out" ] || looks=$((looks + 1))
    [ "$looks" -lt 2 ] || break
    # The editor removes this name when it takes the report, and the other one at the end.
    if [ "$seconds" -ge 5 ] && [ -p "$pipe.in" ]; then
      # Later hooks must not wait as well: the number of an editor that was killed may be another
      # process's by now. An editor that was only busy makes its pipe again.
      rm -f "$1/calls"
      break
    fi
  done
  kill "$sending"
  if [ -p "$pipe.out" ]; then
    exec 6<>"$pipe.out"
    rm -f "$pipe.in" "$pipe.out"
    echo late >&6
  else
    # The editor has removed the folder. Of the first signal no shell says anything.
    kill -PIPE $$
    kill $$
  fi
}

# Asks the editor of the folder; `answer` is then its line.
ask() {
  count=$((count + 1))
  name=$$-$count
  pipe=$1/$name
  [ -e "$pipe.in" ] || [ -e "$pipe.out" ] && rm -f "$pipe.in" "$pipe.out"
  mkfifo "$pipe.in" "$pipe.out" || return
  # Opened for both, they wait for nobody, and what is written stays until it is read.
  exec 4<>"$pipe.out" 5<>"$pipe.in"
  {
    echo "$name $2 $cli $version" 1<>"$1/calls"
    printf '%s\000' "$report" >&5
  } 4>&- >/dev/null &
  sending=$!
  watch_editor "$1" 4>&- 5>&- >/dev/null &
  watching=$!
  IFS= read -r answer <&4
  kill "$watching" "$sending"
  exec 4>&- 5>&-
}

set --
for folder in "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/ide"/gemini-companion-*.hooks; do
  is_served "$folder" && set -- "$@" "$folder"
done
[ $# -gt 0 ] || exit 0
report=$(cat)
# Of several editors the one that the CLI is connected to; if it is to none, the first with a window.
ways=any
[ $# -eq 1 ] || ways='connected any'
for way in $ways; do
  for folder; do
    editor=${folder##*/gemini-companion-}
    editor=${editor%.hooks}
    answer=
    ask "$folder" "$way"
    case $answer in
    no) ;;
    '{'*) printf '%s\n' "$answer"; exit 0 ;;
    *) exit 0 ;;
    esac
  done
done
exit 0
