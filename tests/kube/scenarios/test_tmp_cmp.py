"""compare timelines"""
import sys
from pathlib import Path
import pytest
from muster.sim.scenario.file import load
from muster.sim.scenario.run import run
from tests.kube.scenarios.test_scenarios import cluster, played, FILES
import difflib
def lines(r): return [f"{l.at:g} {l.kind} {l.text}" for l in r.timeline] + [str(u) for u in r.units] + [f"{c} -> {c.held}" for c in r.expectations]+[str(r.ended)]
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_cmp(cluster, file):
    s=load(file)
    r=played(s, cluster)
    a,b=lines(run(load(file))),lines(r)
    d=[x for x in difflib.unified_diff(a,b,lineterm="",n=0)]
    with open("/tmp/h7_diff.txt","a") as f: f.write(f"== {file.stem} held={r.held}\n"+"\n".join(d)+"\n")
    assert r.held
