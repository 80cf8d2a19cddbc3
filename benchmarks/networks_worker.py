"""Learn tables with another package, in its own environment; run by networks.py and mixed.py.

    python networks_worker.py JOB.json

A job names the files of rows, the columns that are categories, the methods (a function and its options each), the most
processor seconds for a fit, and the file for the answers, a line for each: arcs, both ways for an undirected edge, and
processor seconds, or an error. Imports and a fit to a small table come before the clock. A method that once exceeds its
time is not tried on further tables.
"""

import json
import logging
import resource
import signal
import sys
import warnings

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


def frame_of(X, categories):
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    return frame.astype({names[j]: "category" for j in categories})


def pgmpy(X, categories, search, score):
    from pgmpy import causal_discovery

    options = {"show_progress": False, "return_type": "dag"} if search == "HillClimbSearch" else {}
    learner = getattr(causal_discovery, search)(scoring_method=score, **options)
    found = learner.fit(frame_of(X, categories)).causal_graph_
    return [[int(i[1:]), int(j[1:])] for i, j in found.edges()]


def andrey(X, categories, search, score):
    import andrey

    told = {} if score in ("local_score_BDeu", "local_score_BIC_categorical") else {"categorical": categories}
    found = getattr(andrey, search)(X, score_func=score, **told)
    return np.argwhere(found.structure.to_numpy() == 1).tolist()  # 1 is a tail at i on the edge with j


def processor_seconds():
    """Not by time.process_time: under a limit Linux moves that in steps of 4 ms."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def too_long(*_):
    raise TimeoutError


def fit(X, categories, method, timeout):
    before = processor_seconds()
    resource.setrlimit(resource.RLIMIT_CPU, (int(before + timeout) + 1, resource.RLIM_INFINITY))
    try:
        arcs = globals()[method["function"]](X, categories, **method["options"])
        return {"arcs": arcs, "seconds": processor_seconds() - before}
    except TimeoutError:
        return {"error": f"> {timeout:g} s"}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:120]}
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def main():
    with open(sys.argv[1]) as file:
        job = json.load(file)
    signal.signal(signal.SIGXCPU, too_long)
    small = np.random.default_rng(0).standard_normal((60, 4))
    categories = [0, 1, 2, 3] if job["all_categories"] else [0, 1]
    small[:, categories] = small[:, categories] > 0
    late = {}
    for method in job["methods"].values():
        fit(small, categories, method, job["timeout"])
    for table in job["tables"]:
        X = np.load(table["rows"])
        for name in table["methods"]:
            method = job["methods"][name]
            answer = late.get(name) or fit(X, table["categories"], method, job["timeout"])
            if "error" in answer:
                late[name] = answer
            with open(job["answers"], "a") as file:
                file.write(json.dumps(table["key"] | {"method": name} | answer) + "\n")


if __name__ == "__main__":
    main()
