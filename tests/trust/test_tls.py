"""A Dask cluster behind TLS: certificates are flags, and what is wrong with them is found before any work."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from acyclic.cli import main
from acyclic.cli.settings import Settings, gather
from acyclic.data.cluster import Scheduler
from acyclic.data.simulate import simulate
from acyclic.errors import InputError
from acyclic.learners.base import DagLearner
from acyclic.trust import workers
from acyclic.trust.bootstrap import bootstrap

FILES = ("tls_ca", "tls_cert", "tls_key")


@pytest.fixture
def flags(tmp_path, monkeypatch):
    """A table, and flags that name three files, of which none is a certificate."""
    monkeypatch.chdir(tmp_path)
    rows = simulate(n_nodes=5, n=50, random_state=1).X
    Path("t.csv").write_text("a,b,c,d,e\n" + "".join(f"{','.join(map(repr, row))}\n" for row in rows.tolist()))
    for name in FILES:
        Path(f"{name}.pem").write_text("no certificate")
    return {f"--{name.replace('_', '-')}": f"{name}.pem" for name in FILES}


@pytest.fixture
def unfitted(monkeypatch):
    """Fits are an error: what is tested has to be refused before the first."""
    monkeypatch.setattr(DagLearner, "fit", lambda *_, **__: pytest.fail("a fit was begun"))


def spelt(flags):
    return [word for pair in flags.items() for word in pair]


COMMANDS = [["learn", "t.csv", "--bootstrap", "2"], ["bootstrap", "t.csv", "--draws", "2"], ["reproduce", "figure-4"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_what_cannot_be_right_is_refused_by_its_flag_before_any_work(flags, unfitted, capsys, command):
    def refused(given, *named):
        before = set(Path().iterdir())
        assert main([*command, *spelt(given)]) == 1
        said = capsys.readouterr().err
        assert len(said.splitlines()) == 1 and all(name in said for name in named), said
        assert set(Path().iterdir()) == before

    at = {"--cluster": "tls://127.0.0.1:1"}
    for flag in flags:
        rest = {name: path for name, path in flags.items() if name != flag}
        refused({**at, **rest}, flag)
        refused({**at, **rest, flag: "nowhere.pem"}, flag, "nowhere.pem")
    refused(flags, "--cluster")
    refused({**flags, "--cluster": "tcp://127.0.0.1:1"}, "--tls-ca", "tcp://127.0.0.1:1")


def test_addresses_and_certificates_that_dask_cannot_use(flags, unfitted, capsys):
    pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
    for given in ({}, flags):
        assert main(["bootstrap", "t.csv", "--cluster", "tls://127.0.0.1:1", *spelt(given)]) == 1
        said = capsys.readouterr().err
        assert len(said.splitlines()) == 1 and all(flag in said for flag in flags), said


def test_an_unreachable_cluster_is_found_before_the_fit(unfitted):
    pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}), pytest.raises(InputError, match="answers at"):
        bootstrap("equal-variance", simulate(n_nodes=5, n=50).X, 2, cluster="tcp://127.0.0.1:1")


def test_a_config_names_the_files_from_where_it_is(flags):
    folder = Path("elsewhere")
    folder.mkdir()
    lines = ['table = "../t.csv"', 'cluster = "tls://host:8786"', *(f'{name} = "../{name}.pem"' for name in FILES)]
    (folder / "run.toml").write_text("\n".join(lines))
    found = gather(None, Settings(), folder / "run.toml").cluster
    assert found == Scheduler("tls://host:8786", *(folder / ".." / f"{name}.pem" for name in FILES))


def test_a_result_neither_tells_nor_decides_where_draws_are_computed(flags):
    assert (
        main(["learn", "t.csv", "--cluster", "tls://host:8786", *spelt(flags), "--out", "run", "--quiet", "--quick"])
        == 0
    )
    result = Path("run/result.json")
    plain = json.loads(result.read_text())
    places = {"cluster", *FILES}
    assert not places & set(plain["provenance"]["run"])
    plain["provenance"]["run"] |= {"cluster": "tcp://host:8786"}
    result.write_text(json.dumps(plain))
    again = gather(None, Settings(), repeat=result)
    assert again.cluster is None and again.expected == plain["provenance"]["data"]


@pytest.fixture
def certificates(tmp_path):
    """Makes a certificate that signs itself, so that it is its own authority: its file and that of its key."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("the command openssl makes the certificates")

    def make(name):
        pair = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
        subprocess.run([*command, "-out", pair[0], "-keyout", pair[1]], check=True, capture_output=True, timeout=60)
        return tuple(map(str, pair))

    return make


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_draws_of_a_cluster_behind_tls_have_the_same_bits(flags, certificates, capsys, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
    (cert, key), (other, its_key) = certificates("ours"), certificates("theirs")
    roles = {
        f"tls_{role}_{kind}": file for role in ("scheduler", "worker") for kind, file in [("cert", cert), ("key", key)]
    }
    security = distributed.Security(
        tls_ca_file=cert, require_encryption=True, **roles, tls_client_cert=cert, tls_client_key=key
    )
    where = {"host": "127.0.0.1", "scheduler_port": 0, "dashboard_address": "127.0.0.1:0", "protocol": "tls://"}
    size = {"n_workers": 1, "threads_per_worker": 1, "processes": False}

    def told(*more):
        code = main(["bootstrap", "t.csv", "--draws", "5", "--json", *more])
        return code, capsys.readouterr()

    with distributed.LocalCluster(**size, **where, security=security) as cluster:
        address = cluster.scheduler_address
        ours = "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key
        assert address.startswith("tls://")
        with monkeypatch.context() as patch:
            patch.setattr(workers, "_on_this_machine", lambda *_: pytest.fail("draws were computed here"))
            code, far = told("--cluster", address, *ours)
            assert main(["learn", "t.csv", "--bootstrap", "2", "--cluster", address, *ours, "--quiet"]) == 0
        _, near = told()
        assert code == 0 and json.loads(far.out) == json.loads(near.out)
        monkeypatch.setattr(DagLearner, "fit", lambda *_, **__: pytest.fail("a fit was begun"))
        strange = "--tls-cert", other, "--tls-key", its_key
        refusals = [
            ("--cluster", address),
            ("--cluster", address.replace("tls", "tcp")),
            ("--cluster", address, "--tls-ca", cert, *strange),
            ("--cluster", address, "--tls-ca", other, *strange),
            ("--cluster", address, "--tls-ca", cert, "--tls-cert", cert, "--tls-key", its_key),
        ]
        for refused in refusals:
            code, said = told(*refused)
            own = [line for line in said.err.splitlines() if "distributed.comm" not in line]
            assert code == 1 and json.loads(said.out)["kind"] == "input" and len(own) == 1, said.err
