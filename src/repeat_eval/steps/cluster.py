"""A suite's trials on a cluster: what can run there, what the workers are told, and whether they have the same code."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.cluster.dask_cluster import DaskCluster, WorkerDied
from repeat_eval.execution.cluster.messages import Order, Ready, RemotePlan, fingerprint_of, settings_that_travel
from repeat_eval.execution.grading import RemoteCheck
from repeat_eval.execution.prepare import Prepared
from repeat_eval.execution.trials import PlannedCase
from repeat_eval.records.trial import Trial
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import SuiteSpec
from repeat_eval.targets.base import Call
from repeat_eval.targets.environment import Scrubber
from repeat_eval.version import __version__

if TYPE_CHECKING:
    from repeat_eval.steps.run_sides import SidePlan

_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/]+\S*")
_MAX_DIFFERENCES = 5


def refuse_on_cluster(spec: SuiteSpec, settings: ResolvedSettings, request: Request, *, in_process: bool) -> None:
    """Refuse what cannot be kept on a cluster, all of it at once.

    Raises:
        UserError: the scheduler's address is none, or the run needs what only one machine has.
    """
    reasons = []
    if not _ADDRESS.fullmatch(request.scheduler or ""):
        reasons.append(f"--scheduler is an address such as tcp://10.0.0.5:8786 or tls://…; found {request.scheduler!r}")
    if spec.path is None or in_process:
        reasons.append("a cluster's workers load suite and target from files; these were made in Python")
    if request.base_dir is not None or request.base_ref is not None:
        reasons.append(
            "base's checkout is on this machine only, so it cannot run beside head on a cluster: run base by itself "
            "and give its run file as --base, or divide the run with --shard"
        )
    if settings["rate"] is not None:
        reasons.append("`rate` cannot be kept by workers that know nothing of each other: leave it out, or run here")
    if settings["cassettes"] is not None and settings["cassette_mode"] != "off":
        reasons.append("recordings are files of one machine: give --cassette-mode off, or run here")
    if request.run_as is not None:
        reasons.append("trials on a cluster run as the user of its workers, and another one was asked for")
    if reasons:
        raise UserError([Problem(f"--executor dask: {reason}") for reason in reasons])


def prepare_on_cluster(side: SidePlan, cluster: DaskCluster, request: Request, target: str | None) -> Prepared:
    """What a run needs of one side whose trials run on a cluster; `target` stands for the suite's own.

    Raises:
        UserError: what the workers have to be told holds the value of a secret.
    """
    cases = {plan.id: plan.case_fingerprint for plan in side.header.cases}
    assert side.spec.path is not None  # noqa: S101 - see refuse_on_cluster
    path = side.spec.path.absolute()
    plan = RemotePlan(
        version=__version__,
        suite=str(path),
        seen_from_here=str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else None,
        target=target,
        cases=request.cases,
        tags=request.tags,
        seed=side.header.seed,
        settings=settings_that_travel(side.settings),
        fingerprint=fingerprint_of(cases, side.header.target_fingerprint),
    )
    raw = msgspec.json.encode(plan)
    if Scrubber(request.environ).scrub(raw.decode()) != raw.decode():
        raise UserError(
            "--executor dask: an option holds the value of a secret, which is not sent to a cluster: let the target "
            "read it from the environment of the workers"
        )
    remote = _RemoteSide(side, cluster, raw)
    planned = tuple(
        PlannedCase(spec=case, asked=plan.asked, timeout=None, target=remote)
        for case, plan in zip(side.cases, side.header.cases, strict=True)
    )
    return Prepared(planned, (remote,), None, run=remote.run, cluster=cluster)


class _RemoteSide:
    """One side on a cluster. Stands where targets do, so that it is started and closed as they are."""

    def __init__(self, side: SidePlan, cluster: DaskCluster, raw: bytes) -> None:
        self._side = side
        self._cluster = cluster
        self._raw = raw

    async def start(self) -> None:
        """Connect, and have all workers get ready. UserError when one cannot."""
        await self._cluster.enter()
        await self._cluster.probe(self._raw, self._differs)

    async def answer(self, call: Call) -> tuple[Any, int]:
        """Not asked: whole trials run on the cluster, see `run`."""
        raise NotImplementedError

    async def close(self) -> None:
        """Leave nothing behind on the workers."""
        await self._cluster.end(self._raw)
        await self._cluster.leave()

    async def run(self, case: PlannedCase, repetition: int, run_seed: int, remote: RemoteCheck | None) -> Trial:
        """Run one trial there; stands for `run_trial`."""
        order = Order(case=case.spec.id, repetition=repetition, asked=case.asked)
        try:
            reply = await self._cluster.run(self._raw, order)
        except WorkerDied as error:
            message = f"its workers on the cluster died: {error}"
            return Trial(case=order.case, repetition=repetition, outcome="error", error_kind="harness", message=message)
        if reply.trial is None or reply.trial.key != (order.case, repetition):
            raise UserError([Problem(f"a worker of the cluster cannot run trials: {one}") for one in reply.problems])
        return reply.trial

    def _differs(self, ready: Ready) -> Sequence[str]:
        """What a worker has that is not as it is here."""
        header = self._side.header
        here = {plan.id: plan.case_fingerprint for plan in header.cases}
        cases = sorted(case for case in {*here, *ready.cases} if here.get(case, "") != ready.cases.get(case, ""))
        found = [f"case {case!r} is another one there than here" for case in cases[:_MAX_DIFFERENCES]]
        if len(cases) > _MAX_DIFFERENCES:
            found.append(f"and {len(cases) - _MAX_DIFFERENCES} more cases")
        files = sorted(name for name, digest in ready.files.items() if not self._has(name, digest))
        found += [f"{name} is another one there than here" for name in files[:_MAX_DIFFERENCES]]
        if not found and ready.target != header.target_fingerprint:
            found.append("the target is another one there than here: its settings or its files differ")
        return found

    def _has(self, name: str, digest: str) -> bool:
        """Whether a file that a worker loaded is the same here, or not here at all."""
        path = self._side.spec.folder / name
        return not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() == digest
