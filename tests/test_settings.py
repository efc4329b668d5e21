from __future__ import annotations

import tomllib

import pytest

from crucible_batch.errors import UsageError
from crucible_batch.settings import Settings, load_settings
from crucible_batch.settings.template import described, described_threshold, template


def write(root, text, workspace=None):
    path = root / "crucible.toml" if workspace is None else root / workspace / "settings.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def refused(root, text):
    write(root, text)
    with pytest.raises(UsageError) as caught:
        load_settings(root)
    return str(caught.value)


def test_without_files_every_setting_has_its_default(tmp_path):
    assert load_settings(tmp_path) == Settings()
    assert load_settings(tmp_path, "w") == Settings()


def test_a_workspace_overrides_key_by_key(tmp_path):
    write(tmp_path, "[scoring]\nks = [3]\nrelevant_at = 1\n")
    write(tmp_path, "[scoring]\nrelevant_at = 3\n", "w")
    assert load_settings(tmp_path).scoring.relevant_at == 1
    own = load_settings(tmp_path, "w").scoring
    assert (own.ks, own.relevant_at) == ((3,), 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[scoring]\nk = [5]", "line 2: unknown setting 'scoring.k'. Did you mean scoring.ks"),
        ("[scorin]\nks = [5]", "line 1: unknown setting 'scorin'. Did you mean scoring"),
        ("[scoring]\nks = [0]", "scoring.ks.0"),
        ("[scoring]\nks = []", "scoring.ks"),
        ('[scoring]\nks = ["5"]', "scoring.ks.0"),
        ("[scoring]\nks = [10000000000000000000000]", "scoring.ks.0"),
        ("[scoring]\nks = [true]", "scoring.ks.0"),
        ("[scoring]\nks = 5", "line 2: scoring.ks"),
        ("[scoring]\nrelevant_at = 4", "line 2: scoring.relevant_at"),
        ("[scoring]\nerror_threshold = 1.5", "(got 1.5)"),
        ("[scoring]\nerror_threshold = nan", "scoring.error_threshold"),
        ("[statistics]\nseed = -1", "statistics.seed"),
        ('[statistics]\nseed = "1"', "statistics.seed"),
        ("[statistics]\nn_resamples = 10", "statistics.n_resamples"),
        ("[statistics]\nn_resamples = 100000000000", "statistics.n_resamples"),
        ('[statistics]\nadjust = "none"', "statistics.adjust"),
        ('[machine]\nmemory_limit = "lots"', "machine.memory_limit"),
        ("[judge]\nusd_per_million_tokens = [1.0]", "two prices are needed"),
        ("[judge]\nusd_per_million_tokens = [-1.0, 1.0]", "judge.usd_per_million_tokens.0"),
        ("[judge]\nusd_per_million_tokens = [1.0, inf]", "judge.usd_per_million_tokens.1"),
        ("[judge]\ntemperature = true", "line 2: judge.temperature"),
        ("[judge]\ntemperature = 2.5", "line 2: judge.temperature"),
        ("[judge]\nconcurrency = 0", "line 2: judge.concurrency"),
        ("[judge]\ntimeout_seconds = inf", "line 2: judge.timeout_seconds"),
        ("[judge]\nmodel = ''", "line 2: judge.model"),
        ("[judge]\nbase_url = 'http://[::1'", "line 2: judge.base_url: the address cannot be read"),
        ("[judge]\nbase_url = 'localhost:1/v1'", "the address has to look like https://host/path"),
        ("[judge]\nbase_url = 'http://a:99999/v1'", "line 2: judge.base_url"),
        (
            "[judge]\napi_key = 's'",
            "unknown setting 'judge.api_key'. Did you mean judge.api_key_env",
        ),
        ("scoring = 1", "line 1: scoring"),
        ("[scoring", "is not valid TOML"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(tmp_path, text, said):
    message = refused(tmp_path, text)
    assert said in message
    assert "crucible.toml" in message


def test_a_fault_of_a_workspace_is_told_where_it_stands(tmp_path):
    write(tmp_path, "[scoring]\nks = [3]\n")
    write(tmp_path, "[scoring]\nks = [-3]\n", "w")
    with pytest.raises(UsageError, match=r"w/settings\.toml"):
        load_settings(tmp_path, "w")


def test_a_file_that_is_no_utf_8_is_told(tmp_path):
    (tmp_path / "crucible.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(UsageError, match="not valid TOML"):
        load_settings(tmp_path)


def test_the_template_is_toml_that_changes_nothing(tmp_path):
    write(tmp_path, template())
    assert load_settings(tmp_path) == Settings()


def test_the_template_with_every_setting_switched_on_is_the_default(tmp_path):
    names = {name.split(".")[1] for name, _, _ in described()}
    names |= {"[[thresholds]]", *(key for key, _, _ in described_threshold())}
    lines = [
        line.removeprefix("# ") if line.removeprefix("# ").split(" = ")[0] in names else line
        for line in template().splitlines()
    ]
    write(tmp_path, "\n".join(lines))
    sections = {name.split(".")[0] for name, _, _ in described()}
    assert tomllib.loads("\n".join(lines)).keys() == sections | {"thresholds"}
    assert load_settings(tmp_path) == Settings()


def test_every_setting_is_described():
    for name, default, text in described():
        assert text, name
        assert not text.endswith("."), name
        assert default, name


def test_every_key_of_a_rule_is_described():
    for name, _, text in described_threshold():
        assert text, name
        assert not text.endswith("."), name


def changed(section, **values):
    part = getattr(Settings(), section).model_copy(update=values)
    return Settings().model_copy(update={section: part})


def test_the_hash_covers_what_can_change_a_number_and_nothing_else():
    assert changed("machine", memory_limit="9GB").hash == Settings().hash
    assert changed("scoring", ks=(3,)).hash != Settings().hash
    assert changed("statistics", adjust="bh").hash != Settings().hash


def test_the_scoring_hash_covers_only_what_scoring_reads():
    base = Settings().scoring_hash
    assert changed("statistics", adjust="bh").scoring_hash == base
    assert changed("scoring", relevant_at=1).scoring_hash == base  # a column of its own
    for section, name, value in (
        ("scoring", "ks", (3,)),
        ("scoring", "llm_lanes", ("m@p",)),
        ("scoring", "error_threshold", 0.5),
        ("statistics", "min_items", 3),
        ("statistics", "small_sample", 9),
        ("statistics", "seed", 1),
        ("statistics", "n_resamples", 2_000),
    ):
        assert changed(section, **{name: value}).scoring_hash != base, name


def test_how_a_judge_is_asked_changes_no_number(tmp_path):
    write(tmp_path, '[judge]\nmodel = "m"\nusd_per_million_tokens = [1, 2.5]\n')
    settings = load_settings(tmp_path)
    assert settings.judge.usd_per_million_tokens == (1.0, 2.5)
    assert settings.hash == Settings().hash
    assert settings.scoring_hash == Settings().scoring_hash
