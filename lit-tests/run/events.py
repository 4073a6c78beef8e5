"""Prints a schedule, as `covsched show --format json` gives it, in lines that FileCheck can match.

    complete yes
    thread t1 parent t0 nth 0 worker
    t1 pthread_mutex_lock both partition.c:24 worker m0 result=0
    t0 pthread_create both partition.c:42 main child=t1 result=0
    t0 call both thread_pool.cpp:44 Pool::submit(...)

With --sites: what happened where, without the order: `op function site`, each once, sorted.
"""

import os
import subprocess
import sys

import expectations


def line(event):
    parts = [event["thread"], event["op"], event["phase"]]
    parts.append(f"{os.path.basename(event['file'] or '-')}:{event['line'] or 0}")
    parts.append(event["function"] or "-")
    parts += [event["object"]] if event["object"] else []
    parts += [f"child={event['child']}"] if event["child"] else []
    parts += [f"result={event['result']}"] if event["result"] is not None else []
    return " ".join(map(str, parts))


def main(covsched, *arguments):
    shown = subprocess.run([covsched, "show", "--format", "json", arguments[-1]], stdout=subprocess.PIPE, check=True)
    schedule = expectations.load(shown.stdout)
    if arguments[0] == "--sites":
        print(*sorted({f"{e['op']} {e['function']} {e['site']}" for e in schedule["events"]}), sep="\n")
        return
    print("complete", "yes" if schedule["complete"] else "no")
    for thread in schedule["threads"]:
        print("thread", thread["id"], "parent", thread["parent"] or "-", "nth", thread["nth"], thread["entry"])
    print(*map(line, schedule["events"]), sep="\n")


main(*sys.argv[1:])
