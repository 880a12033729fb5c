"""Count and percentiles of the durations of each span name in OTLP JSON lines: what a script does."""
import glob
import json
import sys

by_name = {}
for path in sorted(glob.glob(sys.argv[1] + "/*.jsonl")):
    with open(path, "rb") as f:
        for line in f:
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        by_name.setdefault(span["name"], []).append(int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]))
for name, durations in sorted(by_name.items()):
    durations.sort()
    n = len(durations)
    print(name, n, *(durations[-(-n * p // 100) - 1] for p in (50, 95, 99)))
