"""trainmark for ReFrame 4: throughput of each workload on synthetic data, and the time to train of ResNet-50.

    reframe -C SITE.py -c configs/integrations/reframe/trainmark.py -r --performance-report

A site adds its reference values to `reference`, and the modules that trainmark needs to its environments.
"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_after, run_before, sanity_function, variable


class TrainmarkTest(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "trainmark"
    ranks_per_node = variable(int, value=2)
    nodes = variable(int, value=1)

    @run_after("setup")
    def set_ranks(self):
        cores = self.current_partition.processor.num_cores if self.current_partition.processor else 0
        self.num_tasks_per_node = self.ranks_per_node
        self.num_tasks = self.nodes * self.ranks_per_node
        if cores:
            self.num_cpus_per_task = max(1, cores // self.ranks_per_node)
            self.env_vars["OMP_NUM_THREADS"] = self.num_cpus_per_task
        self.env_vars["OMP_PROC_BIND"] = "false"


def figure(pattern, stdout):
    return sn.extractsingle(pattern, stdout, 1, float)


@rfm.simple_test
class TrainmarkThroughput(TrainmarkTest):
    workload = parameter(["resnet50", "dlrm", "cosmoflow", "deepcam"])
    precision = parameter(["f32", "bf16"])
    reference = {"*": {"samples_per_s": (0, None, None, "samples/s")}}

    @run_before("run")
    def set_options(self):
        self.executable_opts = ["bench", self.workload, "--precision", self.precision]

    @sanity_function
    def has_a_rate(self):
        return sn.assert_gt(self.samples_per_s(), 0.0)

    @performance_function("samples/s")
    def samples_per_s(self):
        return figure(r"^samples_per_s\s+(\S+)", self.stdout)

    @performance_function("s")
    def exchange(self):
        return figure(r"^breakdown_s_per_step\.exchange\s+(\S+)", self.stdout)

    @performance_function("s")
    def input(self):
        return figure(r"^breakdown_s_per_step\.input\s+(\S+)", self.stdout)


@rfm.simple_test
class TrainmarkTimeToTrain(TrainmarkTest):
    """Trains the configuration `config` to its target; its data must be where it names them."""

    config = variable(str, value="configs/resnet50/mlperf.json")

    @run_before("run")
    def set_options(self):
        self.executable_opts = ["run", self.config, "--set", "results.directory=results"]

    @sanity_function
    def reaches_the_target(self):
        return sn.assert_found(r"^RESULT .* status=success", self.stdout)

    @performance_function("s")
    def time_to_train(self):
        return figure(r"^RESULT .*metric=time_to_train value=(\S+)", self.stdout)

    @performance_function("epochs")
    def epochs(self):
        return figure(r"^RESULT .* epochs=(\S+)", self.stdout)
