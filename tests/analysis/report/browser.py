#!/usr/bin/env python3
"""Compares the HTML report, in headless Chromium, with the JSON of the same logs.

Reads the series back from the drawn charts, counts drawn pixels, clicks legend entries and headings, filters, prints, and
fails on any console message. The pages are of a run of this program, of a submission, and of a whole round.

  browser.py TRAINMARK [--mpiexec MPIEXEC] [--screenshots FOLDER]

The run of this program is made up. With --mpiexec, the page of a real run, of DLRM on two ranks, is checked, too.
"""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SKIPPED = 77


def skip(reason):
    """Ends the script as a skipped test, for `reason`."""
    print(f"browser: Skipped\n{reason}\n[  SKIPPED ] browser")
    sys.exit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError as absent:
    skip(f"needed for {sys.executable}: python3-selenium: {absent}")

DRIVER = "/usr/bin/chromedriver"
if not os.path.exists(DRIVER):
    skip(f"needed: chromium, chromium-driver, python3-selenium: no {DRIVER}")

MOST_SECONDS = 2.0  # for a thousand logs to open
MOST_BYTES = 5 * 2**20
EVALUATIONS = 40
COSMOFLOW = 0.124  # the benchmark's target
DLRM = {"workload": "dlrm", "epochs": 1, "target": {"quality": 0.6}, "evaluation": {"per_epoch": 10}, "clear_caches": "never",
        "threads": 1, "model": {"embedding_width": 16, "bottom": [64, 32, 16], "top": [64, 32, 1], "tables": "small"},
        "training": {"global_batch_size": 256}, "optimizer": {"name": "adagrad"}, "embeddings": {"optimizer": "adagrad"},
        "schedule": {"name": "constant", "learning_rate": 0.02}}


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def near(one, other, what, tolerance=1e-5):
    expect(abs(one - other) <= tolerance * max(abs(one), abs(other), 1e-9), f"{what}: {one} and {other}")


# ---- logs to show ----------------------------------------------------------------------------------------------------


def log_text(slower, seed, batch):
    """The log of a successful CosmoFlow run of EVALUATIONS epochs; its times are multiplied by `slower`."""
    start, lines = 1_700_000_000_000, []

    def add(ms, key, value=None, **metadata):
        kind = "INTERVAL_START" if key.endswith("_start") else "INTERVAL_END" if key.endswith("_stop") else "POINT_IN_TIME"
        record = {"namespace": "", "time_ms": int(start + ms), "event_type": kind, "key": key, "value": value,
                  "metadata": dict(metadata, file="made.py", lineno=1)}
        lines.append(":::MLLOG " + json.dumps(record))

    for key, value in (("submission_benchmark", "cosmoflow"), ("submission_org", "Example"), ("submission_division", "closed"),
                       ("submission_status", "onprem"), ("submission_platform", "made"), ("cache_clear", True)):
        add(0, key, value)
    add(1, "init_start")
    for key, value in (("seed", seed), ("global_batch_size", batch), ("train_samples", 524288), ("eval_samples", 65536),
                       ("number_of_nodes", 4), ("accelerators_per_node", 1)):
        add(2, key, value)
    add(900, "init_stop")
    add(1000, "run_start")
    add(1000, "staging_start")
    ms = 1000 + 3000 * slower
    add(ms, "staging_stop")
    for epoch in range(1, EVALUATIONS + 1):
        add(ms, "epoch_start", epoch_num=epoch)
        ms += 10000 * slower * (1 + 0.01 * ((seed * 7 + epoch) % 5))
        add(ms - 1000, "eval_start", epoch_num=epoch)
        quality = 0.12 if epoch == EVALUATIONS else 0.5 - 0.009 * epoch
        add(ms, "eval_error", quality, epoch_num=epoch)
        add(ms, "eval_stop", epoch_num=epoch)
        add(ms, "epoch_stop", epoch_num=epoch)
    add(ms, "run_stop", status="success")
    return "\n".join(lines) + "\n"


def write_submission(folder, systems, runs):
    """Writes results and descriptions of `systems`: name -> (nodes, slower)."""
    for name, (nodes, slower) in systems.items():
        results = folder / "results" / name / "cosmoflow"
        results.mkdir(parents=True)
        for run in range(runs):
            (results / f"result_{run}.txt").write_text(log_text(slower * (1 + 0.02 * run), run + 1, 64 * nodes))
        (folder / "systems").mkdir(exist_ok=True)
        description = {"number_of_nodes": nodes, "accelerators_per_node": 4, "accelerator_model_name": "Accelerator",
                       "host_processors_per_node": 2, "host_processor_model_name": "Processor", "division": "closed",
                       "submitter": folder.name}
        (folder / "systems" / f"{name}.json").write_text(json.dumps(description))


def write_own_run(folder, ranks):
    """Writes a made-up run of this program: log, telemetry and trace."""
    folder.mkdir(parents=True)
    (folder / "result_1.txt").write_text(log_text(1.0, 1, 64))
    wall = (3000 + sum(10000 * (1 + 0.01 * ((7 + epoch) % 5)) for epoch in range(1, EVALUATIONS + 1))) / 1000
    names = ["staging", "input", "forward", "backward", "exchange", "optimizer", "evaluation", "checkpoint"]
    counters = ["bytes_read", "bytes_staged", "bytes_sent", "flops", "train_samples", "eval_samples", "steps",
                "exchange_total_ns", "skipped_samples"]
    entries, events = [], []
    for rank in range(ranks):
        seconds = {name: wall * 0.01 * (index + 1 + rank) for index, name in enumerate(names)}
        seconds["other"] = wall - sum(seconds.values())
        entries.append({"rank": rank, "host": "node0", "node": 0, "threads": 1, "wall_s": wall, "subsystems_s": seconds,
                        "counters": dict.fromkeys(counters, 1000), "peak_rss_bytes": 1 << 30, "scopes": 10, "scope_cost_s": 0.0,
                        "step_s": {"count": 9, "mean": 0.1, "min": 0.05, "p50": 0.1, "p90": 0.2, "p99": 0.2, "max": 0.2,
                                   "bucket_growth": 1.05, "bucket_counts": [[370, 4], [372, 3], [380, 2]]}})
        events.append({"name": "step", "cat": "step", "ph": "X", "ts": 0, "dur": 300, "pid": rank, "tid": 0, "args": {"step": 1}})
        for index, name in enumerate(names[1:6]):
            events.append({"name": name, "cat": "scope", "ph": "X", "ts": 60 * index, "dur": 50 + rank, "pid": rank, "tid": 0})
        events.append({"name": "conv1", "cat": "layer", "ph": "X", "ts": 61, "dur": 30, "pid": rank, "tid": 0})
    telemetry = {"schema": 1, "workload": "cosmoflow", "ranks": entries, "provenance": {"machine": {"cpu": "made"}}}
    (folder / "result_1.telemetry.json").write_text(json.dumps(telemetry))
    (folder / "result_1.trace.json").write_text(json.dumps({"traceEvents": events}))


def real_run(trainmark, mpiexec, folder):
    """Runs DLRM on two ranks, with a trace."""
    data = folder.parent / "clicks"
    subprocess.run([trainmark, "generate", "dlrm", data, "--samples", "60000", "--test-samples", "10240"], check=True, capture_output=True)
    config = dict(DLRM, dataset={"train": str(data / "train.bin"), "test": str(data / "test.bin")},
                  results={"directory": str(folder), "system": "box"})
    (folder.parent / "dlrm.json").write_text(json.dumps(config))
    subprocess.run([mpiexec, "-n", "2", "--oversubscribe", "--bind-to", "none", trainmark, "run", folder.parent / "dlrm.json",
                    "--trace", "2:6"], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))


# ---- the page --------------------------------------------------------------------------------------------------------


class Page:
    def __init__(self, driver, html, screenshots):
        self.driver, self.name, self.screenshots = driver, html.stem, screenshots
        expect(html.stat().st_size < MOST_BYTES, f"{html.name} has {html.stat().st_size} bytes")
        driver.get(html.as_uri())
        entry = self.run("const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd")
        self.seconds = entry / 1000

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def screenshot(self, what):
        if self.screenshots:
            self.driver.save_screenshot(str(self.screenshots / f"{self.name}-{what}.png"))

    def ids(self):
        return self.run("return Array.from(document.querySelectorAll('canvas'), c => c.id)")

    def show(self, chart):
        """Scrolls to the chart, as a reader would, and waits until it is drawn."""
        self.run("document.getElementById(arguments[0]).scrollIntoView({block: 'center'})", chart)
        for _ in range(100):
            if self.run("return Boolean(Chart.getChart(arguments[0]))", chart):
                time.sleep(0.1)
                return
            time.sleep(0.05)
        raise AssertionError(f"{chart} is not drawn")

    def datasets(self, chart):
        return self.run(
            "const c = Chart.getChart(arguments[0]);"
            "return c.data.datasets.map((d, i) => ({label: d.label, shown: c.isDatasetVisible(i), data: d.data}))", chart)

    def labels(self, chart):
        return self.run("return Chart.getChart(arguments[0]).data.labels", chart)

    def drawn_pixels(self, chart):
        """Counts coloured pixels, which excludes axes and text: these are grey."""
        return self.run(
            "const c = document.getElementById(arguments[0]);"
            "const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});"
            "copy.drawImage(c, 0, 0);"
            "const p = copy.getImageData(0, 0, c.width, c.height).data;"
            "let n = 0; for (let i = 0; i < p.length; i += 4)"
            "  if (p[i + 3] > 100 && Math.max(p[i], p[i+1], p[i+2]) - Math.min(p[i], p[i+1], p[i+2]) > 40) ++n;"
            "return n", chart)

    def click_legend(self, chart, index):
        """Clicks the legend's entry with the mouse."""
        self.run("document.getElementById(arguments[0]).scrollIntoView({block: 'end'})", chart)
        place = self.run(
            "const c = Chart.getChart(arguments[0]), b = c.legend.legendHitBoxes[arguments[1]], r = c.canvas.getBoundingClientRect();"
            "return [r.left + b.left + 5, r.top + b.top + b.height / 2]", chart, index)
        actions = webdriver.ActionChains(self.driver)
        actions.w3c_actions.pointer_action.move_to_location(int(place[0]), int(place[1]))
        actions.w3c_actions.pointer_action.click()
        actions.perform()
        time.sleep(0.1)

    def column(self, section, index):
        return self.run(
            "const t = Array.from(document.querySelectorAll('section')).find(s => s.querySelector('h2')?.textContent === arguments[0])"
            ".querySelector('table'); return Array.from(t.tBodies[0].rows).filter(r => !r.hidden).map(r => r.cells[arguments[1]].textContent)",
            section, index)

    def sort(self, section, index):
        self.run(
            "const t = Array.from(document.querySelectorAll('section')).find(s => s.querySelector('h2')?.textContent === arguments[0])"
            ".querySelector('table'); t.tHead.rows[0].cells[arguments[1]].querySelector('button').click()", section, index)

    def filter(self, text):
        box = self.driver.find_element("id", "filter")
        box.clear()
        box.send_keys(text + " ")  # an input event even if `text` is empty
        box.send_keys("\b")
        time.sleep(0.4)

    def check_console(self):
        messages = self.driver.get_log("browser")
        expect(not messages, f"{self.name}: console: {messages}")


def check_convergence(page, report, target):
    page.show("convergence0")
    drawn = {one["label"]: one["data"] for one in page.datasets("convergence0")}
    for name, run in report["files"].items():
        points, logged = drawn.pop(name), run["convergence"]
        expect(len(points) == len(logged), f"{name}: {len(points)} points drawn, {len(logged)} evaluations")
        for index in (0, -1):
            near(points[index]["y"], logged[index]["quality"], f"{name}: quality")
            near(points[index]["x"], logged[index]["epoch_num"], f"{name}: epoch")
    expect(list(drawn) == [f"target {target}"], f"drawn beside the runs: {list(drawn)}")
    page.run("document.querySelector('input[name=convergence0-by][value=time]').click()")
    time.sleep(0.2)
    by_time = {one["label"]: one["data"] for one in page.datasets("convergence0")}
    for name, run in report["files"].items():
        near(by_time[name][-1]["time"], run["convergence"][-1]["time_s"], f"{name}: time")


def check_every_chart_is_drawn(page):
    for chart in page.ids():
        page.show(chart)
        expect(page.drawn_pixels(chart) > 50, f"{page.name}: {chart} is empty")


def check_own_run(page, report, target):
    (run,) = report["files"].values()
    check_convergence(page, report, target)
    page.show("ranks0")
    ranks = run["telemetry"]["by_rank"]
    for one in page.datasets("ranks0"):
        expect(len(one["data"]) == len(ranks), "as many bars as ranks")
        for index, rank in enumerate(ranks):
            near(one["data"][index], rank["seconds"][one["label"]], f"rank {index}: {one['label']}")
    page.show("steps0")
    (steps,) = page.datasets("steps0")
    histogram = run["telemetry"]["step_histogram"]
    expect([n for n in steps["data"] if n > 0] == [b["steps"] for b in histogram], "steps of every bucket")
    middle = 1e3 * (histogram[0]["low_s"] * histogram[0]["high_s"]) ** 0.5
    near(float(page.labels("steps0")[0]), middle, "first bucket, shown with five digits", 1e-4)
    page.show("timeline0")
    rows = {span["y"] for one in page.datasets("timeline0") for span in one["data"]}
    expect(rows == {f"rank {rank['rank']}" for rank in ranks}, f"a row for each rank, got {rows}")
    page.show("subsystems")
    before = page.drawn_pixels("subsystems")
    page.click_legend("subsystems", 2)
    hidden = [one["label"] for one in page.datasets("subsystems") if not one["shown"]]
    expect(hidden == ["forward"], f"a click on the legend hides forward, got {hidden}")
    expect(page.drawn_pixels("subsystems") < before, "less is drawn without it")
    check_every_chart_is_drawn(page)


def check_made_run(page, report):
    """Checks figures known from how the run was made up."""
    (steps,) = page.datasets("steps0")
    expect(len(steps["data"]) == 11, f"11 buckets from 370 to 380, got {len(steps['data'])}")
    (run,) = report["files"].values()
    ranks = len(run["telemetry"]["by_rank"])
    spans = [span["x"] for one in page.datasets("timeline0") for span in one["data"]]
    expect(len(spans) == 5 * ranks, f"5 scopes of {ranks} ranks, got {len(spans)}")
    near(max(end for _, end in spans), 0.001 * (60 * 4 + 50 + ranks - 1), "end of the last scope")


def check_systems(page, report):
    page.show("scale0")
    systems = {name.split("/results/")[-1].split("/")[0] if "/results/" in name else name.split("/")[1]: one
               for name, one in report["systems"].items()}
    points = {p["name"].split("/")[-1]: p for one in page.datasets("scale0") for p in one["data"] if "name" in p}
    expect(set(points) == set(systems), f"systems drawn: {sorted(points)}, of {sorted(systems)}")
    for name, one in systems.items():
        near(points[name]["x"], one["compute_units"], f"{name}: units")
        near(points[name]["y"], one["olympic_mean_s"] / 60, f"{name}: time to train")
    lines = [one for one in page.datasets("scale0") if one["label"].endswith("unit hours")]
    expect(len(lines) >= 2, "lines of equal budget")
    for line in lines:
        for end in line["data"]:
            near(end["x"] * end["y"] / 60, float(line["label"].split()[0]), line["label"])
    page.show("batch0")
    points = {p["name"].split("/")[-1]: p for one in page.datasets("batch0") for p in one["data"]}
    for name, one in systems.items():
        near(points[name]["x"], one["global_batch_size"], f"{name}: batch")
        near(points[name]["y"], one["olympic_epochs_run"], f"{name}: epochs")
    page.show("spread0")
    for row in page.datasets("spread0"):
        expect(len(row["data"]) == systems[row["label"].split("/")[-1]]["successful"], f"{row['label']}: a point for each run")


def check_sort_and_filter(page, report):
    page.sort("Runs", 3)
    times = [float(text) for text in page.column("Runs", 3)]
    expect(times == sorted(times) and len(times) == len(report["files"]), "a click on a heading sorts")
    page.sort("Runs", 3)
    times = [float(text) for text in page.column("Runs", 3)]
    expect(times == sorted(times, reverse=True), "a second click sorts the other way")
    expect(page.run("return document.querySelectorAll('[aria-sort=descending]').length") == 1, "the heading says so")
    page.filter("large")
    names = page.column("Runs", 0)
    wanted = [name for name in report["files"] if "large" in name]
    expect(sorted(names) == sorted(wanted), f"filtered: {len(names)} rows, expected {len(wanted)}")
    page.show("convergence0")
    drawn = [one["label"] for one in page.datasets("convergence0") if not one["label"].startswith("target")]
    expect(sorted(drawn) == sorted(wanted), f"filtered: {len(drawn)} series, expected {len(wanted)}")
    page.screenshot("filtered")
    page.filter("")
    expect(len(page.column("Runs", 0)) == len(report["files"]), "without a filter all are back")


def check_access(page):
    """Checks what screen readers and keyboards need."""
    lacking = page.run("return Array.from(document.querySelectorAll('canvas')).filter(c => !c.getAttribute('aria-label') "
                       "|| c.getAttribute('role') !== 'img').map(c => c.id)")
    expect(not lacking, f"no text for {lacking}")
    expect(page.run("return document.querySelectorAll('th:not([scope])').length") == 0, "headings have a scope")
    expect(page.run("return document.documentElement.lang") == "en", "the page tells its language")
    unlabelled = page.run("return Array.from(document.querySelectorAll('input')).filter(i => i.labels.length === 0).length")
    expect(unlabelled == 0, "every input has a label")


def check_print(page):
    """Checks that printing draws all charts."""
    pdf = base64.b64decode(page.driver.print_page())
    expect(pdf.startswith(b"%PDF") and len(pdf) > 20000, f"a printed page of {len(pdf)} bytes")
    expect(all(page.run("return Boolean(Chart.getChart(arguments[0]))", chart) for chart in page.ids()), "all charts printed")


def check_dark_print(page):
    """Checks that a dark page is printed in light colours, and is then dark again with tables folded as before."""
    closed = "return document.querySelectorAll('details.data:not([open])').length"
    colour = "return Chart.getChart('spread0').data.datasets[0].borderColor"
    page.show("spread0")
    before = page.run(closed), page.run(colour)
    expect(before[0] > 0 and before[1] == "#56b4e9", f"some tables are folded, and colours are of the dark page: {before}")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    expect((page.run(closed), page.run(colour)) == (0, "#0072b2"), "all open and light while it is printed")
    page.run("window.dispatchEvent(new Event('afterprint'))")
    expect((page.run(closed), page.run(colour)) == before, "as before")


def make_page(trainmark, folder, place):
    html, text = place / f"{folder.name}.html", place / f"{folder.name}.json"
    subprocess.run([trainmark, "analyze", folder, "--html", html, "--json", text, "--quiet"], check=True)
    return html, json.loads(text.read_text())


def open_browser(dark=False):
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1000"):
        options.add_argument(argument)
    if dark:
        options.add_argument("--blink-settings=preferredColorScheme=0")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(60)
    return driver


def check_pages(trainmark, mpiexec, place, screenshots):
    write_own_run(place / "own" / "results" / "box" / "cosmoflow", 3)
    write_submission(place / "submission", {"small": (1, 4.0), "large": (8, 1.0)}, 5)
    for index in range(25):
        write_submission(place / "round" / f"org{index}",
                         {f"small{index}": (2, 4.0 + index), f"large{index}": (2 + index, 2.0 + 0.1 * index)}, 20)
    driver = open_browser()
    try:
        if mpiexec:
            real_run(trainmark, mpiexec, place / "real")
            html, report = make_page(trainmark, place / "real", place)
            page = Page(driver, html, screenshots)
            page.screenshot("top")
            check_own_run(page, report, DLRM["target"]["quality"])
            page.check_console()

        html, report = make_page(trainmark, place / "own", place)
        page = Page(driver, html, screenshots)
        page.screenshot("top")
        check_own_run(page, report, COSMOFLOW)
        check_made_run(page, report)
        check_access(page)
        check_print(page)
        page.check_console()

        html, report = make_page(trainmark, place / "submission", place)
        page = Page(driver, html, screenshots)
        page.screenshot("top")
        check_systems(page, report)
        check_convergence(page, report, COSMOFLOW)
        check_every_chart_is_drawn(page)
        check_sort_and_filter(page, report)
        check_access(page)
        page.check_console()

        html, report = make_page(trainmark, place / "round", place)
        page = Page(driver, html, screenshots)
        page.screenshot("top")
        expect(len(report["files"]) == 1000, "a thousand logs")
        seconds = sorted([page.seconds, Page(driver, html, None).seconds, Page(driver, html, None).seconds])
        print(f"a thousand logs: {html.stat().st_size / 2**20:.1f} MiB, open in {seconds[1]:.2f} s (median of 3)")
        expect(seconds[1] < MOST_SECONDS, f"a thousand logs open in {seconds} s")
        check_systems(page, report)
        check_convergence(page, report, COSMOFLOW)
        check_every_chart_is_drawn(page)
        check_sort_and_filter(page, report)
        page.check_console()
    finally:
        driver.quit()


def check_dark(trainmark, place, screenshots):
    html, _ = make_page(trainmark, place / "submission", place)
    driver = open_browser(dark=True)
    try:
        page = Page(driver, html, screenshots)
        page.show("scale0")
        background = page.run("return getComputedStyle(document.body).backgroundColor")
        expect(background == "rgb(15, 20, 25)", f"dark page, got {background}")
        page.screenshot("dark")
        check_dark_print(page)
        page.check_console()
    finally:
        driver.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainmark")
    parser.add_argument("--mpiexec", help="launcher for a real run")
    parser.add_argument("--screenshots", type=pathlib.Path, help="keep pictures of the pages in this folder")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    trainmark = os.path.abspath(options.trainmark)
    with tempfile.TemporaryDirectory() as place:
        check_pages(trainmark, options.mpiexec, pathlib.Path(place), options.screenshots)
        check_dark(trainmark, pathlib.Path(place), options.screenshots)
    print("every page holds what the JSON says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
