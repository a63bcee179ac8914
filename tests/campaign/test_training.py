"""The campaign kind ``training`` and the search ``[accelerators]``: settings, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.campaign.campaign_file import in_options, parse_campaign, probe_campaign
from tonnage.campaign.execute.training import phase_spec
from tonnage.campaign.kinds.training import TrainingSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.number_probe import accelerator_probe
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import check, make_plan
from tonnage.campaign.run_lifecycle import resume_run, run_campaign
from tonnage.errors import RequestError
from tonnage.published.training_models import checkpoint_sizes, training_models
from tonnage.records import Run

from .interrupting import InterruptingObserver

OWN = 'sample_size = "1MiB"\nbatch = 4\ncompute = "20ms"\n'


def training(text: str, rest: str = "") -> Campaign:
    return parse_campaign(f'target = "sim:knee=4"\n[workload]\nkind = "training"\n{text}{rest}', "c.toml")


def refusal(text: str, rest: str = "") -> str:
    with pytest.raises(RequestError) as caught:
        training(text, rest)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def settings(campaign: Campaign) -> list[TrainingSetting]:
    found = campaign.settings()
    assert all(isinstance(setting, TrainingSetting) for setting in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("name", training_models())
def test_every_published_model_is_a_setting_with_its_own_numbers(name: str) -> None:
    model = training_models()[name]
    (setting,) = settings(training(f'model = "{name}"\naccelerators = 2\n'))
    assert (setting.model, setting.tasks) == (name, 2 * model.readers)
    assert (setting.batch, setting.compute_ns, setting.sample_size) == (
        model.batch,
        model.compute_ns,
        model.sample_bytes,
    )
    assert setting.space_bytes <= 4 << 30
    assert f"{model.model}_{model.accelerator}.yaml" in model.source


def test_a_key_that_is_given_makes_another_model_of_it() -> None:
    (setting,) = settings(training('model = "unet3d-h100"\naccelerators = 1\nbatch = 2\n'))
    assert (setting.model, setting.batch, setting.compute_ns) == (None, 2, 323_000_000)
    (deeper,) = settings(training('model = "unet3d-h100"\naccelerators = 1\nprefetch = 9\nreaders = 8\n'))
    assert (deeper.model, deeper.prefetch, deeper.tasks) == ("unet3d-h100", 9, 8)


def test_scale_makes_samples_smaller_and_leaves_how_many_tasks_read_them() -> None:
    campaign = training('model = "unet3d-h100"\naccelerators = 2\n').model_copy(update={"scale": 0.01})
    (setting,) = settings(campaign)
    assert (setting.sample_size, setting.sample_spread, setting.tasks) == (1_466_006, 683_418, 8)
    assert setting.demand_bytes_per_s == 7 * 1_466_006 * 10**9 // 323_000_000


def test_the_phase_spec_says_all_that_the_engine_asks_for() -> None:
    text = 'accelerators = 3\nreaders = 2\nprefetch = 5\ndataset = "100MiB"\nsteps = 7\nepochs = 2\nshuffle = "files"\n'
    (setting,) = settings(training(OWN + text + 'sample_spread = "4KiB"\nsamples_per_file = 8\ntime_limit = "3s"\n'))
    spec = phase_spec(setting, "0007-train", 9, first_pass=5)
    assert spec["tasks"] == {"first": 0, "here": 6, "total": 6}
    assert spec["limit"] == {"time_ns": 3_000_000_000}
    assert spec["work"] == {
        "kind": "training",
        "step": "train",
        "dataset": {"files": 12, "samples_per_file": 8, "sample_bytes": 1 << 20, "spread_bytes": 4096},
        "transfer_size": 1 << 20,
        "accelerators": 3,
        "readers": 2,
        "batch_samples": 4,
        "prefetch_batches": 5,
        "compute_ns": 20_000_000,
        "steps": 7,
        "epochs": 2,
        "shuffle": "files",
        "first_pass": 5,
        "cache": "drop",
        "saving": None,
    }
    layout = phase_spec(setting, "0007-write", 9, lay_out=True)
    assert (layout["tasks"]["total"], layout["work"]["step"], layout["limit"]) == (8, "lay-out", {"time_ns": None})


def test_a_checkpoint_has_the_published_size_or_that_of_a_large_language_model() -> None:
    (own,) = settings(training('model = "unet3d-h100"\naccelerators = 2\ncheckpoint_every = 5\n'))
    assert (own.checkpoint_bytes, own.writers, own.part_bytes) == (499_153_191, 1, 477 << 20)
    more = 'accelerators = 8\ncheckpoint_every = 5\ncheckpoint_size = "llama3-8b"\n'
    (sharded,) = settings(training('model = "unet3d-h100"\n' + more))
    # 8.03 × 10^9 parameters: 2 bytes of the model and 12 of the optimizer each, on 8 accelerators.
    assert (sharded.checkpoint_bytes, sharded.writers) == (14 * 8_030_261_248, 8)
    assert 0 <= 8 * sharded.part_bytes - 14 * 8_030_261_248 < 8 << 20
    assert (sharded.space_bytes - own.space_bytes) > 100 * 10**9
    small = training('model = "unet3d-h100"\n' + more).model_copy(update={"scale": 0.001})
    assert settings(small)[0].checkpoint_bytes == 112_423_657


def test_a_checkpoint_is_written_by_tasks_of_its_own() -> None:
    text = 'accelerators = 3\nreaders = 2\nsteps = 20\ncheckpoint_every = 5\ncheckpoint_size = "10MB"\n'
    (setting,) = settings(training(OWN + text + "checkpoint_writers = 3\n"))
    spec = phase_spec(setting, "0007-train", 9, first_pass=5)
    assert (setting.tasks, spec["tasks"]["total"]) == (6, 9)
    assert spec["work"]["saving"] == {"every_steps": 5, "writers": 3, "writer_bytes": 4 << 20}


def test_the_sizes_of_large_language_models_agree_with_the_table_of_the_benchmark() -> None:
    # GiB of the model and the optimizer, rounded down, as mlpstorage/config.py has them; of 1t it has others.
    table = {"llama3-8b": 15 + 90, "llama3-70b": 130 + 781, "llama3-405b": 755 + 4533}
    for name, gib in table.items():
        assert checkpoint_sizes()[name] / 2**30 == pytest.approx(gib, rel=0.005)


def test_a_checkpoint_that_never_comes_is_refused() -> None:
    text = 'accelerators = 4\ndataset = "100MiB"\ncheckpoint_every = 50\ncheckpoint_size = "1MB"\n'
    campaign = training(OWN, text)
    with pytest.raises(
        RequestError, match=r"epoch of 4 accelerators has 6 steps, and the first checkpoint comes after 50"
    ):
        check(campaign, make_plan(campaign))


@pytest.mark.parametrize(
    ("text", "rest", "told"),
    [
        (OWN + "checkpoint_every = 5\n", "", "without a model has no published checkpoint; hint: give checkpoint_size"),
        ('model = "resnet50-h100"\ncheckpoint_every = 5\n', "", "resnet50-h100 has no published checkpoint"),
        (OWN + 'checkpoint_size = "1MB"\n', "", "without checkpoint_every there is no checkpoint_size"),
        (OWN + 'checkpoint_every = 1\ncheckpoint_size = "1MB"\n', "", "hint: give 2 or more"),
        (
            OWN + 'checkpoint_every = 5\ncheckpoint_size = "llama4"\n',
            "",
            "'llama4' is no size and no published checkpoint",
        ),
        (
            OWN + 'checkpoint_every = 101\ncheckpoint_size = "1MB"\n',
            "[accelerators]\n",
            "a trial has 100 steps, and the first checkpoint comes after 101; hint: give at most 100",
        ),
        (
            OWN,
            "[accelerators]\nutilisation = 1.0\n",
            "shows a utilisation of 100 %: accelerators wait for each other as well; hint: give at most 99 %",
        ),
        ("", "", "c.toml:2: without a model, training needs sample_size; hint: give sample_size"),
        ('model = "vgg"\n', "", "there is no model 'vgg'; hint: they are unet3d-a100"),
        (OWN + 'transfer_size = "1000B"\n', "", "transfer_size 1kB is no multiple of 4KiB up to 1GiB"),
        (
            OWN + "steps = 5\n",
            "[accelerators]\n",
            "c.toml:7: [accelerators] says the steps; hint: leave steps out",
        ),
        (OWN + "readers = [2, 4]\n", "[accelerators]\n", "a search looks at one readers at a time"),
        (
            OWN,
            '[accelerators]\nbudget = "3s"\n',
            "a budget of 3s is too short for 10 trials of 1s; hint: give at least 10s",
        ),
        (OWN, "[accelerators]\n[search]\n", "[search] and [accelerators] are two searches; hint: keep one of them"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(text: str, rest: str, told: str) -> None:
    assert told in refusal(text, rest)


def test_a_search_is_about_a_training() -> None:
    with pytest.raises(RequestError, match=r'about one workload of kind training; hint: set kind = "training"'):
        parse_campaign('target = "sim:"\n[accelerators]\n', "c.toml")


def test_options_of_a_probe_that_have_no_meaning_for_a_training_are_refused() -> None:
    with pytest.raises(RequestError, match=r"^--max-tasks has no meaning with --training; hint: leave one"):
        probe_campaign("sim:", {"training": "unet3d-h100", "max_tasks": 8})
    with pytest.raises(RequestError, match=r"^--surface has no meaning with --training; hint: leave one"):
        probe_campaign("sim:", {"training": "unet3d-h100", "surface": True})
    with pytest.raises(
        RequestError, match=r"^--checkpoint-every is about --training; hint: give --training unet3d-h100"
    ):
        probe_campaign("sim:", {"checkpoint_every": 9})
    with pytest.raises(RequestError, match=r"^--utilisation is about --training; hint: give --training unet3d-h100"):
        probe_campaign("sim:", {"utilisation": 0.9})


def test_trials_of_a_search_double_until_accelerators_starve_and_repeat_one_setting_each() -> None:
    campaign = training(OWN, "[accelerators]\nmost = 32\nutilisation = 0.9\n")
    search, lines = accelerator_probe(campaign, 1), []
    tried = []
    while (trial := search.next(lines, len(lines) * 10**9)) is not None and len(tried) < 200:
        number = trial.setting.accelerators  # type: ignore[attr-defined]
        tried.append(number)
        share = min(1.0, 10.5 * 0.9 / number) * (0.99 if len(tried) % 2 else 1.01)
        window = [20, 380_000_000, int(380_000_000 / min(share, 1.0))]
        fed = {"accelerators": number, "batch_samples": 4, "compute_ns": 20_000_000, "windows": [window] * number}
        lines.append(
            {
                "trial": len(lines), "phase": "train", "purpose": "measure", "status": "ok", "operations": 1,
                "setting": {"accelerators": number}, "training": fed,
            }
        )  # fmt: skip
        assert trial.setting.time_limit_ns == 2_000_000_000
    assert tried[:5] == [1, 2, 4, 8, 16]
    assert {10, 11} <= set(tried) and len(tried) < 60, tried
    assert set(search.stopped(lines, "budget").values()) == {"known"}
    lines[3]["status"] = "failed"
    assert search.next(lines, 0) is None
    assert set(search.stopped(lines, "budget").values()) == {"failed"}


def test_an_interrupted_search_goes_on_where_it_stood(tmp_path: Path) -> None:
    campaign = training(OWN, '[accelerators]\nmost = 16\nbudget = "60s"\n').model_copy(update={"seed": 3})
    out = str(tmp_path / "run")
    ended = run_campaign(campaign, text=None, command_line=["test"], out=out, observer=InterruptingObserver(5))
    assert ended.state == "interrupted"
    before = Run.open(out).trials()
    assert resume_run(out, observer=Observer()).state == "complete"
    after = Run.open(out).trials()
    assert [one["setting"] for one in after[: len(before)]] == [one["setting"] for one in before]
    assert len(after) > len(before) and "accelerators" in Run.open(out).manifest


def test_a_data_set_is_laid_out_once_and_again_after_a_resume_and_nothing_stays(tmp_path: Path) -> None:
    (place := tmp_path / "data").mkdir()
    text = 'accelerators = [1, 2]\ndataset = "12MiB"\nsteps = 4\n[repeat]\ncount = 2\n'
    campaign = training(OWN.replace("20ms", "1ms"), text)
    campaign = campaign.model_copy(update={"seed": 3, "target": str(place)})
    out = str(tmp_path / "run")
    ended = run_campaign(campaign, text=None, command_line=["test"], out=out, observer=InterruptingObserver(3))
    assert (ended.state, list(place.iterdir())) == ("interrupted", [])
    assert [line["phase"] for line in Run.open(out).trials()][:3] == ["write", "train", "train"]
    assert resume_run(out, observer=Observer()).state == "complete"
    assert list(place.iterdir()) == []
    lines = Run.open(out).trials()
    assert [line["phase"] for line in lines].count("write") == 2, "the first data set went with the interrupt"
    measured = [line for line in lines if line["phase"] == "train" and line["status"] == "ok"]
    assert sorted(line["setting"]["accelerators"] for line in measured) == [1, 1, 2, 2]
    # 4 steps of 4 samples for each accelerator.
    assert all(line["operations"] == 16 * line["setting"]["accelerators"] for line in measured)
    assert all(line["cache"]["state"] in ("cold", "warm", "unknown") for line in measured)


def test_a_data_set_that_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    campaign = training(OWN, 'accelerators = 1\ndataset = "900TB"\n').model_copy(update={"target": str(tmp_path)})
    with pytest.raises(RequestError, match=r"hint: use a smaller dataset or scale"):
        run_campaign(campaign, text=None, command_line=["test"], out=str(tmp_path / "run"), observer=Observer())
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_without_a_batch_for_each_is_refused() -> None:
    campaign = training(OWN, 'accelerators = 64\ndataset = "10MiB"\n')
    with pytest.raises(RequestError, match=r"its 9 samples are no batch of 4 for each of 64 accelerators"):
        check(campaign, make_plan(campaign))


@pytest.mark.parametrize("space", [64 << 20, 129 << 20, 3 << 30])
def test_data_set_and_checkpoint_of_a_probe_are_in_its_space_together(space: int, tmp_path: Path) -> None:
    options = {"training": "unet3d-h100", "scale": 0.001, "checkpoint_every": 5, "space": space}
    plan = make_plan(probe_campaign(str(tmp_path), options))
    assert 0.95 * space < plan.space_bytes <= space


def test_a_checkpoint_without_a_size_is_refused_in_the_words_of_the_options() -> None:
    with pytest.raises(RequestError, match="no published checkpoint; hint: give --checkpoint-size, such"), in_options():
        probe_campaign("null:", {"training": "resnet50-h100", "checkpoint_every": 5})


def test_a_checkpoint_that_alone_fills_the_space_of_a_probe_is_refused(tmp_path: Path) -> None:
    options = {"training": "unet3d-h100", "scale": 0.001, "checkpoint_every": 5, "space": 400 << 10}
    with pytest.raises(RequestError, match="a checkpoint alone takes 1 MiB, and --space is 400 KiB; hint: give more"):
        probe_campaign(str(tmp_path), options)


def test_each_trial_has_an_order_of_its_own(tmp_path: Path) -> None:
    """What one order does to a short trial would be in all of them, and in no interval."""
    of = 'target = "sim:knee=4,plateau=50GB/s,jitter=0"\nseed = 3\n[repeat]\ncount = 4\n'
    workload = '[workload]\nkind = "training"\nmodel = "unet3d-h100"\naccelerators = 18\nsteps = 30\n'
    campaign = parse_campaign(of + workload, "c.toml")
    run_campaign(campaign, text=None, command_line=["test"], out=str(tmp_path / "run"), observer=Observer())
    lines = [line for line in Run.open(tmp_path / "run").trials() if line["purpose"] == "measure"]
    assert len({line["elapsed_ns"] for line in lines}) == 4
