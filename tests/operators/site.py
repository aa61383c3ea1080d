"""A namespace in which an operator makes pods, and what becomes of them."""

from muster.base.errors import ApiError
from tests.control_plane.checks import until
from tests.control_plane.stage import Stage

MERGE = "application/merge-patch+json"


class Site(Stage):
    """A stage whose gangs are an operator's jobs."""

    def __init__(self, plane, namespace, folder, operator):
        super().__init__(plane, namespace, folder)
        self.operator = operator
        self._jobs = operator.jobs_path(namespace)

    # --- what a test does ---

    def job(self, name, pods, *, cpu="1", minimum=None, **options):
        """A job of so many pods, which starts with all of them or with a minimum."""
        self.minima[name] = minimum or pods
        if minimum is not None:
            options["minimum"] = minimum
        body = self.operator.job(name, pods - 1, cpu=cpu, **options)
        self.plane.request("POST", self._jobs, body)

    def change_job(self, name, patch):
        self.plane.request("PATCH", f"{self._jobs}/{name}", patch, content_type=MERGE)

    def delete_job(self, name):
        self.plane.request("DELETE", f"{self._jobs}/{name}", {"propagationPolicy": "Background"})

    def succeed(self, name):
        """The kubelet's word that a pod has ended."""
        kind = "application/strategic-merge-patch+json"
        self.plane.request("PATCH", f"{self.path(name)}/status", {"status": {"phase": "Succeeded"}}, content_type=kind)

    def remove_jobs(self):
        for each in self.plane.request("GET", self._jobs)["items"]:
            self.delete_job(each["metadata"]["name"])
        self.history.until(lambda: all(life.gone for life in self.history.lives.values()), "the end of all pods")
        until(lambda: not self.plane.request("GET", self.group_path())["items"], "the end of all groups")

    # --- what it waits for ---

    def started(self, *jobs):
        for job in jobs:
            self.history.until_bound(job, self.minima[job])
            self.history.until(lambda job=job: self.running(job) >= self.minima[job], f"{job} to run")

    def has_pods(self, job, count):
        self.history.until(lambda: len(self.history.of(job)) == count, f"{count} pods of {job}")

    def waits(self, job):
        """Until its group says why it waits; the sentence."""
        return until(lambda: self.told(job, "FailedScheduling"), f"the group of {job} to say why it waits")[-1]

    def ends(self, job):
        until(lambda: self.job_condition(job, "Succeeded"), f"{job} to succeed")

    def has_no_group(self, job):
        until(lambda: self.find_group(job) is None, lambda: f"the end of the group: {self.find_group(job)}")

    def is_written_again(self, job, note):
        """Changes the job, and waits until the operator has looked at it and written the group once more."""
        before = len(self.record("update", "podgroups"))
        self.change_job(job, {"metadata": {"annotations": {"note": note}}})
        until(lambda: len(self.record("update", "podgroups")) > before, f"another write of the group of {job}")

    def is_refused(self, pod, *, times):
        def refusals():
            return [each for each in self.bindings() if each.name == pod and each.code >= 400]

        until(lambda: len(refusals()) >= times, f"{times} binds of {pod} that are refused")

    # --- what it knows ---

    def group_path(self, name=""):
        groups = self.operator.groups_path(self.namespace)
        return f"{groups}/{name}" if name else groups

    def find_group(self, name):
        try:
            return self.plane.request("GET", self.group_path(name))
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def told(self, job, reason):
        """What events of that reason say of its group, oldest first."""
        events = self.plane.request("GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        about = {"kind": "PodGroup", "name": job}
        mine = [each for each in events if about.items() <= each["regarding"].items() and each["reason"] == reason]
        return [each["note"] for each in mine]

    def job_condition(self, job, kind):
        found = self.plane.request("GET", f"{self._jobs}/{job}").get("status", {}).get("conditions", ())
        return any(each["type"] == kind and each["status"] == "True" for each in found)

    def running(self, job):
        return sum(life.phase == "Running" for life in self.history.of(job))

    def bound(self, job):
        return self.history.bound(job)

    def places(self, job):
        """Which pods, by UID, and where they are."""
        return {life.uid: tuple(life.nodes) for life in self.history.of(job)}
