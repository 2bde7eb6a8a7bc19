"""The script that starts the extension's tool server `editor`, where the system has `sh`. Pure.

A server that does not start, or that has nothing at all, worries the user with a message of the CLI
(docs/protocol.md 9.75). So where there is no Node.js, the script itself is a server, with one
resource and no tool.
"""

from __future__ import annotations

_SCRIPT = """\
# Starts the tool server; where there is no Node.js, it is one without tools.
N=$(command -v node || readlink /proc/$PPID/exe 2>/dev/null)
case "$N" in */node) exec "$N" "${0%/*}/PROGRAM" tools ;; esac
while IFS= read -r line; do
  id=${line##*'"id":'}
  id=${id%%[,\\}]*}
  case "$line" in
  *'"method":"initialize"'*) result='INITIALIZED' ;;
  *'"method":"tools/list"'*) result='{"tools":[]}' ;;
  *'"method":"resources/list"'*) result='{"resources":[RESOURCE]}' ;;
  *'"id":'*) result='{}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
done
"""
_INITIALIZED = (
    '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},'
    '"serverInfo":{"name":"editor","version":"VERSION"}}'
)
_RESOURCE = '{"uri":"editor://none","name":"Node.js is missing"}'


def make_script(program: str, version: str) -> bytes:
    """`program` is the name of the file beside it that Node.js runs."""
    said = _INITIALIZED.replace("VERSION", version)
    whole = _SCRIPT.replace("PROGRAM", program).replace("INITIALIZED", said)
    return whole.replace("RESOURCE", _RESOURCE).encode("ascii")
