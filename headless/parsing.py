"""Follows a definition of a syntax through a text: which scopes each character has."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from . import patterns
from .grammars import Context, Grammar, Rule, Scopes

Token = Tuple[int, Scopes]
_STEPS = 5000  # of one line; a definition that never ends would take more
_REACH = 128  # lines that a branch may turn back, as in Sublime


class Escape(NamedTuple):
    """The end of an embedded syntax, which comes before all that is in it."""

    rule: Rule
    depth: int
    groups: Tuple[str, ...]


class Frame(NamedTuple):
    """A context on the stack. Matched text that brings or ends it has `meta`, what is inside
    `content`."""

    context: Context
    outer: Scopes
    meta: Scopes
    content: Scopes
    groups: Tuple[str, ...] = ()
    protos: Tuple[Context, ...] = ()
    escapes: Tuple[Escape, ...] = ()


class Branch(NamedTuple):
    """Where a branch began, and what of it was not tried."""

    point: str
    row: int
    position: int
    depth: int
    stack: Tuple[Frame, ...]
    tokens: Tuple[Token, ...]
    match: Any
    rule: Rule
    rest: Tuple[Context, ...]


class Parsed:
    """The scopes of a text, by point."""

    def __init__(self, starts: List[int], scopes: List[Scopes]) -> None:
        self._starts = starts
        self._scopes = scopes

    def at(self, point: int) -> Scopes:
        return self._scopes[max(0, bisect_right(self._starts, point) - 1)]

    def spans(self, size: int) -> Iterator[Tuple[int, int, Scopes]]:
        """Begin, end and scopes of each stretch, of a text of that many characters."""
        ends = self._starts[1:] + [size]
        for begin, end, scopes in zip(self._starts, ends, self._scopes):
            if begin < size:
                yield begin, min(end, size), scopes


def parse(grammar: Grammar, text: str) -> Parsed:
    parser = _Parser(grammar, text.split("\n"))
    parser.run()
    starts: List[int] = []
    scopes: List[Scopes] = []
    begin = 0
    for line, tokens in zip(parser.lines, parser.tokens):
        for offset, scope in tokens:
            if not scopes or scopes[-1] != scope:
                starts.append(begin + offset)
                scopes.append(scope)
        begin += len(line)
    return Parsed(starts, scopes)


class _Parser:
    def __init__(self, grammar: Grammar, lines: List[str]) -> None:
        self.lines = [line + "\n" for line in lines]
        self.tokens: List[List[Token]] = [[] for _line in lines]
        self._stack: List[Frame] = _first(grammar)
        self._branches: List[Branch] = []
        self._row = 0
        self._position = 0
        self._found: Dict[Any, Any] = {}
        self._been: Set[Any] = set()

    def run(self) -> None:
        while self._row < len(self.lines) and self._stack:
            self._line()
            self._row += 1
            self._position = 0

    def _line(self) -> None:
        self._found, self._been = {}, set()
        steps = 0
        while self._position < len(self.lines[self._row]):
            steps += 1
            if steps > _STEPS or not self._step():
                self._emit(len(self.lines[self._row]), self._stack[-1].content)
                return

    def _step(self) -> bool:
        """One match; False where the rest of the line has none."""
        rule, match, escape = self._best()
        if match is None:
            return False
        self._emit(match.start(), self._stack[-1].content)
        self._position = match.start()
        if rule.kind == "fail" and self._turn_back(rule.point):
            return True
        state = (
            match.start(),
            match.end(),
            len(self._stack),
            id(self._stack[-1].context),
            id(rule),
        )
        if match.end() == match.start() and state in self._been:
            # Nothing was consumed, and the same would come again.
            self._emit(match.start() + 1, self._stack[-1].content)
            return True
        self._been.add(state)
        self._apply(rule, match, escape)
        return True

    # Finding

    def _best(self) -> Tuple[Any, Any, Optional[Escape]]:
        frame = self._stack[-1]
        best: Tuple[Any, Any, Optional[Escape]] = (None, None, None)
        for escape in frame.escapes:
            match = self._search(escape.rule, escape.groups)
            if match is not None and (best[1] is None or match.start() < best[1].start()):
                best = (escape.rule, match, escape)
        for rule in self._rules(frame):
            match = self._search(rule, frame.groups if rule.pops else ())
            if match is not None and (best[1] is None or match.start() < best[1].start()):
                best = (rule, match, None)
                if match.start() == self._position:
                    break
        return best

    def _rules(self, frame: Frame) -> Iterator[Rule]:
        for context in frame.protos:
            yield from context.own_rules(set())
        yield from frame.context.rules()

    def _search(self, rule: Rule, groups: Tuple[str, ...]) -> Any:
        pattern = patterns.compiled(rule.pattern, groups)
        if pattern is None:
            return None
        known = self._found.get(pattern, False)
        if known is None or (known and known.start() >= self._position):
            return known
        match = self._next(pattern, rule)
        if r"\G" not in rule.pattern:
            self._found[pattern] = match
        return match

    def _next(self, pattern: Any, rule: Rule) -> Any:
        """Behind the line break nothing begins, and what does and takes nothing is no match."""
        line, at = self.lines[self._row], self._position
        while True:
            match = pattern.search(line, at)
            if match is None or match.start() >= len(line):
                return None
            if rule.kind or match.end() > match.start():
                return match
            at = match.end() + 1

    # Applying

    def _apply(self, rule: Rule, match: Any, escape: Optional[Escape]) -> None:
        if escape is not None:
            del self._stack[max(1, escape.depth) :]
            self._emit_match(match, self._stack[-1].content, rule)
            return
        if rule.kind == "branch":
            self._branches = [each for each in self._branches if self._row - each.row <= _REACH]
            self._branches.append(self._branch(rule, match, rule.targets[1:]))
            self._enter(rule, match, rule.targets[:1])
        elif rule.targets:
            self._enter(rule, match, rule.targets)
        elif rule.pops:
            self._emit_match(match, self._stack[-1].meta, rule)
            self._pop(rule.pops)
        else:
            self._emit_match(match, self._stack[-1].content, rule)

    def _branch(self, rule: Rule, match: Any, rest: Tuple[Context, ...]) -> Branch:
        return Branch(
            rule.point,
            self._row,
            self._position,
            len(self._stack),
            tuple(self._stack),
            tuple(self.tokens[self._row]),
            match,
            rule,
            rest,
        )

    def _pop(self, count: int) -> Frame:
        """Take contexts away, never the first one; the lowest of them comes back."""
        at = max(1, len(self._stack) - count)
        gone = self._stack[at] if at < len(self._stack) else self._stack[-1]
        del self._stack[at:]
        return gone

    def _enter(self, rule: Rule, match: Any, targets: Tuple[Context, ...]) -> None:
        """Matched text has the meta scopes of what ends and of what begins."""
        below = self._stack[-1]
        matched, outer = below.content, below.content
        if rule.pops:
            # In version 1 text that `set` matched is still in the content of what ends.
            matched = below.meta if below.context.grammar.version > 1 else below.content
            below = self._pop(rule.pops)
            outer = below.outer
            if len(self._stack) == 1 and below is self._stack[0]:
                del self._stack[0]
        for target in targets if rule.kind != "embed" else ():
            matched = _cleared(matched, target) + target.meta_scope
        self._emit_match(match, matched, rule)
        groups = tuple(group or "" for group in (match.group(), *match.groups()))
        escapes = below.escapes
        if rule.escape is not None:
            escapes += (Escape(rule.escape, len(self._stack), groups),)
        for target in targets:
            frame = _frame(target, outer, groups, below.protos + rule.protos, escapes)
            self._stack.append(frame)
            outer = frame.content

    def _turn_back(self, point: str) -> bool:
        """Take the next way of the last branch of that name, where one is left."""
        named = [at for at, branch in enumerate(self._branches) if branch.point == point]
        if not named:
            return False
        at = named[-1]
        branch = self._branches[at]
        del self._branches[at:]
        if not branch.rest:
            return False
        for row in range(branch.row + 1, min(self._row + 1, len(self.tokens))):
            self.tokens[row] = []
        self._row, self._position = branch.row, branch.position
        self.tokens[branch.row] = list(branch.tokens)
        self._stack = list(branch.stack)
        self._found, self._been = {}, set()
        if len(branch.rest) > 1:
            self._branches.append(branch._replace(rest=branch.rest[1:]))
        self._enter(branch.rule, branch.match, branch.rest[:1])
        return True

    # Writing down

    def _emit(self, end: int, scopes: Scopes) -> None:
        if end > self._position:
            self.tokens[self._row].append((self._position, scopes))
            self._position = end

    def _emit_match(self, match: Any, scopes: Scopes, rule: Rule) -> None:
        begin, end = match.span()
        spans = [(begin, end, rule.scope)]
        for group, scope in rule.captures:
            if group <= match.re.groups and match.start(group) >= 0:
                spans.append((max(begin, match.start(group)), min(end, match.end(group)), scope))
        borders = sorted({place for low, high, _scope in spans for place in (low, high)})
        for low, high in zip(borders, borders[1:]):
            inner = tuple(
                name
                for first, last, scope in spans
                if first <= low and high <= last
                for name in scope
            )
            self._emit(high, scopes + inner)


def _first(grammar: Grammar) -> List[Frame]:
    """The scope of the syntax stays whatever takes the place of its main context."""
    main = grammar.context("main")
    if main is None:
        return []
    scopes = (grammar.scope,)
    content = main.content_scope[1:] if main.content_scope[:1] == scopes else main.content_scope
    frame = _frame(main, scopes, ())
    return [frame._replace(content=frame.meta + content)]


def _frame(
    context: Context,
    outer: Scopes,
    groups: Tuple[str, ...],
    protos: Tuple[Context, ...] = (),
    escapes: Tuple[Escape, ...] = (),
) -> Frame:
    meta = _cleared(outer, context) + context.meta_scope
    return Frame(context, outer, meta, meta + context.content_scope, groups, protos, escapes)


def _cleared(scopes: Scopes, context: Context) -> Scopes:
    if context.clears is True:
        return ()
    return scopes[: len(scopes) - int(context.clears)] if context.clears else scopes
