"""trainmark for Ramble, and so for Benchpark: to be put into a repository of applications as
applications/trainmark/application.py. Ramble installs the program with Spack, by the recipe in ../spack.
"""

from ramble.appkit import *


class Trainmark(ExecutableApplication):
    """Throughput of MLPerf workloads on synthetic data, and time to train, on CPU clusters."""

    name = "trainmark"

    tags("mlperf", "deep-learning", "training")

    with when("package_manager_family=spack"):
        software_spec("trainmark", pkg_spec="trainmark@main")
        required_package("trainmark")

    executable("bench", "trainmark bench {workload_name} --precision {precision} {bench_options}", use_mpi=True)
    executable("train", "trainmark run {config} --set seed={seed} --set results.directory={experiment_run_dir}/results",
               use_mpi=True)

    for _name in ("resnet50", "dlrm", "cosmoflow", "deepcam"):
        workload(_name, executables=["bench"])
    workload("train", executables=["train"])

    workload_variable("precision", default="f32", values=["f32", "bf16"], description="Arithmetic of the layers",
                      workloads=["resnet50", "dlrm", "cosmoflow", "deepcam"])
    workload_variable("bench_options", default="", description="Further options of trainmark bench",
                      workloads=["resnet50", "dlrm", "cosmoflow", "deepcam"])
    workload_variable("config", default="mlperf.json", description="Configuration of the run", workloads=["train"])
    workload_variable("seed", default="1", description="Seed of weights and of the order of samples", workloads=["train"])

    _log = "{experiment_run_dir}/{experiment_name}.out"
    figure_of_merit("Samples per second", log_file=_log, fom_regex=r"^samples_per_s\s+(?P<rate>\S+)",
                    group_name="rate", units="samples/s")
    figure_of_merit("Exchange per step", log_file=_log, fom_regex=r"^breakdown_s_per_step\.exchange\s+(?P<time>\S+)",
                    group_name="time", units="s")
    figure_of_merit("Time to train", log_file=_log,
                    fom_regex=r"^RESULT .*metric=time_to_train value=(?P<time>\S+)", group_name="time", units="s")
    figure_of_merit("Quality", log_file=_log, fom_regex=r"^RESULT .* quality=(?P<quality>\S+)", group_name="quality",
                    units="")
    success_criteria("ends", mode="string", match=r"^(samples_per_s\s+[\d.]+|RESULT .* status=success)", file=_log)
