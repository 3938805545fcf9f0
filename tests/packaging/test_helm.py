"""The Helm chart, rendered by the real helm and checked against Kubernetes' schemas. `make test-scale` runs this.

KEDA's ScaledObject is a custom resource, which Kubernetes' schemas do not have: its fields are compared here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.serving import served

from groundwire.config import Config
from groundwire.version import __version__

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "groundwire"
HELM = os.environ.get("HELM") or shutil.which("helm")
STORE = "secrets.GROUNDWIRE_STORE__URL=postgresql://db/groundwire"
METRIC = "groundwire_server_load"

pytestmark = pytest.mark.skipif(HELM is None, reason="helm is not installed; `make test-scale` installs it")


def helm(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(HELM), *args], capture_output=True, text=True, check=False)


def render(*values: str) -> dict[str, dict[str, Any]]:
    """The resources of a release by kind."""
    options = [part for value in values for part in ("--set", value)]
    done = helm("template", "demo", str(CHART), "--namespace", "prod", "--kube-version", "1.33", *options)
    assert done.returncode == 0, done.stderr
    return {found["kind"]: found for found in yaml.safe_load_all(done.stdout) if found}


def container(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (only,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


@pytest.mark.parametrize("version", ["1.25", "1.37"])
@pytest.mark.parametrize("kind", ["hpa", "keda", "none"])
def test_every_resource_is_what_kubernetes_accepts(kind: str, version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    found = render(STORE, f"autoscaling.kind={kind}")
    for name in found.keys() - {"ScaledObject"}:
        validate.validate(found[name], version, strict=True)
    scalers = {"hpa": {"HorizontalPodAutoscaler"}, "keda": {"ScaledObject"}, "none": set()}
    common = {"Deployment", "Service", "ConfigMap", "Secret", "PodDisruptionBudget"}
    assert set(found) == common | scalers[kind]
    assert ("replicas" in found["Deployment"]["spec"]) == (kind == "none")


def test_the_chart_passes_lint() -> None:
    done = helm("lint", "--strict", str(CHART), "--set", STORE)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([], "anyOf"),
        ([STORE, "autoscaling.kind=vpa"], "autoscaling.kind"),
        ([STORE, "autoscaling.load=60"], "autoscaling.load"),
        ([STORE, "replica=3"], "replica"),
        ([STORE, "secrets.N=3"], "secrets.N"),
    ],
)
def test_values_that_cannot_work_are_refused_by_the_schema(values: list[str], complaint: str) -> None:
    options = [part for value in values for part in ("--set", value)]
    done = helm("template", "demo", str(CHART), *options)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_the_pods_are_probed_and_scaled_by_what_the_service_serves() -> None:
    found = render(STORE)
    (port,) = container(found)["ports"]
    assert port["containerPort"] == Config().server.port
    (metric,) = found["HorizontalPodAutoscaler"]["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] == METRIC
    with served({"hallucination.backend.type": "fake"}) as running:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            path = container(found)[probe]["httpGet"]["path"]
            assert running.client.get(path).status_code in (200, 503)  # 503: the model is being loaded
        assert f"\n{METRIC} " in running.client.get("/metrics").text


def test_keda_asks_prometheus_for_the_load_of_this_release() -> None:
    spec = render(STORE, "autoscaling.kind=keda")["ScaledObject"]["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 10)
    assert spec["scaleTargetRef"] == {"name": "demo"}
    (trigger,) = spec["triggers"]
    assert trigger["type"] == "prometheus"
    assert trigger["metadata"]["query"] == f'sum({METRIC}{{namespace="prod",pod=~"demo-.*"}})'
    assert trigger["metadata"]["threshold"] == "0.6"


def test_the_settings_in_the_chart_are_settings_of_groundwire(tmp_path: Path) -> None:
    path = tmp_path / "groundwire.yaml"
    found = render(STORE)
    path.write_text(found["ConfigMap"]["data"]["groundwire.yaml"])
    config = Config.load(path)
    assert config.server.auth == "always"
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > config.server.shutdown_grace


def test_keys_come_from_a_secret_and_stay_out_of_everything_else() -> None:
    found = render(STORE)
    holders = [kind for kind, resource in found.items() if "postgresql://" in yaml.safe_dump(resource)]
    assert holders == ["Secret"]
    own = render("existingSecret=mine")
    assert "Secret" not in own
    assert container(own)["envFrom"] == [{"secretRef": {"name": "mine"}}]


def test_the_chart_is_of_this_release() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == __version__
    assert container(render(STORE))["image"] == f"groundwire:{__version__}"
