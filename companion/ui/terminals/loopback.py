"""Keeps this machine's own address out of HTTP proxies, in terminals that we start. Pure.

A CLI with a proxy would otherwise look for the editor there (docs/protocol.md 5.51).
"""

from __future__ import annotations

from typing import Mapping

HOSTS = "127.0.0.1,localhost"
# Programs read one or the other; Windows ignores case.
NAMES = ("NO_PROXY", "no_proxy")
EVERYTHING = "*"
# The same for a script of /bin/sh, with the environment of the terminal.
SCRIPT = f"""\
if [ -z "$NO_PROXY$no_proxy" ]; then export NO_PROXY={HOSTS} no_proxy={HOSTS}; fi
case "$NO_PROXY" in ''|'*'|*{HOSTS}*) ;; *) NO_PROXY="$NO_PROXY,{HOSTS}" ;; esac
case "$no_proxy" in ''|'*'|*{HOSTS}*) ;; *) no_proxy="$no_proxy,{HOSTS}" ;; esac
"""


def without_proxy(environment: Mapping[str, str], windows: bool) -> dict[str, str]:
    """The variables to set on top of the environment. An existing variable is only extended. If one
    of the two does not exist, it is not created, because it would hide the other.

    >>> without_proxy({"no_proxy": "corp.example"}, windows=False)
    {'no_proxy': 'corp.example,127.0.0.1,localhost'}
    """
    names = NAMES[:1] if windows else NAMES
    there = {name: environment[name] for name in names if environment.get(name)}
    if not there:
        return dict.fromkeys(names, HOSTS)
    longer: dict[str, str] = {}
    for name, value in there.items():
        missing = [host for host in HOSTS.split(",") if host not in value.split(",")]
        if missing and value != EVERYTHING:
            longer[name] = ",".join([value, *missing])
    return longer
