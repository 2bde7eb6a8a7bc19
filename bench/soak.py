"""`python -m bench.soak [MINUTES]`: hours of use in minutes, with memory and latencies over time.

One headless editor with the package and five CLIs in a process of their own: one opens and closes
diffs, one waits for the user's decision, one reads slowly, one loses its stream all the time, one
vanishes and another takes its place. In the editor a selection moves, and diffs are edited,
accepted and rejected. Prints a table and draws dist/soak.svg.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURE = os.path.join(ROOT, "dist", "soak.svg")
# What is measured: its name here and in the report, its unit, and what that is in the report's.
MEASURES = (
    ("memory", "MiB", 1024**2),
    ("threads", "", 1),
    ("descriptors", "", 1),
    ("tasks", "", 1),
    ("connected", "", 1),
    ("open and close, p50", "ms", 1e-3),
    ("open and close, p99", "ms", 1e-3),
    ("decision, p50", "ms", 1e-3),
    ("decision, p99", "ms", 1e-3),
    ("longest callback", "ms", 1e-3),
)
Series = Dict[str, List[float]]


def main(minutes: str = "1") -> None:
    samples = run_soak(float(minutes) * 60)
    series = {
        name: [sample[name] / unit for sample in samples if sample[name] is not None]
        for name, _, unit in MEASURES
    }
    print(format_table(series, [sample["second"] for sample in samples]))
    os.makedirs(os.path.dirname(PICTURE), exist_ok=True)
    with open(PICTURE, "w") as file:
        file.write(draw_picture(series))
    decisions = sum(sample["decisions"] for sample in samples)
    print(f"\n{len(samples)} samples, {decisions:.0f} decisions; drawn in dist/soak.svg")


def run_soak(seconds: float) -> List[Dict[str, float]]:
    """What bench/inside/soak.py reports. Raises subprocess.SubprocessError."""
    with tempfile.TemporaryDirectory() as folder:
        workspace, report = os.path.join(folder, "workspace"), os.path.join(folder, "report.json")
        os.mkdir(workspace)
        script = os.path.join(ROOT, "bench", "inside", "soak.py")
        subprocess.run(
            [sys.executable, "-m", "headless", workspace, "--exec", script]
            + ["--", str(seconds), report],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": folder},
            stdout=subprocess.DEVNULL,
            timeout=2 * seconds + 60,
            check=True,
        )
        with open(report) as file:
            samples: List[Dict[str, float]] = json.load(file)
            return samples


def format_table(series: Series, seconds: List[float]) -> str:
    lines = [
        "%-22s %9s %9s %9s %9s %9s %12s"
        % ("", "first", "least", "median", "most", "last", "per hour")
    ]
    for name, unit, _ in MEASURES:
        values = series[name]
        if values:
            shown = (values[0], min(values), statistics.median(values), max(values), values[-1])
            label = f"{name} ({unit})" if unit else name
            numbers = " ".join("%9.1f" % value for value in shown)
            lines.append("%-22s %s %+12.1f" % (label, numbers, find_slope(values, seconds) * 3600))
    return "\n".join(lines)


def find_slope(values: List[float], seconds: List[float]) -> float:
    """Change per second by least squares, of the second half: the first one warms up."""
    half = len(values) // 2
    ys, xs = values[half:], seconds[len(seconds) - len(values) + half :]
    if len(xs) < 2:
        return 0.0
    middle, mean = statistics.mean(xs), statistics.mean(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - mean) for x, y in zip(xs, ys)) / spread


# By hand: what draws plots, with all that it needs, is larger than the project.
def draw_picture(series: Series, width: int = 900, height: int = 90) -> str:
    """One strip for each measure, from nothing to the most there was."""
    strips = []
    for index, (name, unit, _) in enumerate(MEASURES):
        values = series[name]
        most = max(values, default=0) or 1.0
        step = (width - 20) / max(len(values) - 1, 1)
        points = " ".join(
            "%.1f,%.1f" % (10 + at * step, height - 8 - value / most * (height - 30))
            for at, value in enumerate(values)
        )
        strips.append(
            f'<g transform="translate(0 {index * height})"><text x="10" y="14">{name}: at most'
            f' {most:,.1f} {unit}</text><polyline points="{points}"/></g>'
        )
    style = "text{font:12px sans-serif} polyline{fill:none;stroke:#2a6fb0;stroke-width:1.5}"
    size = f'width="{width}" height="{height * len(MEASURES)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style>'
    return "\n".join([head, *strips, "</svg>", ""])


if __name__ == "__main__":
    main(*sys.argv[1:])
