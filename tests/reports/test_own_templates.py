"""Templates of the user's own override named blocks of comment, summary and page, and can do nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import comparison_examples as compared
import pytest
import report_examples as examples
from click.testing import CliRunner

from repeat_eval.analysis.report import to_json
from repeat_eval.cli.main import cli
from repeat_eval.errors import UserError
from repeat_eval.reports.comment import render_comment
from repeat_eval.reports.html import render_html
from repeat_eval.reports.markdown import render_summary
from repeat_eval.reports.template_sandbox import FOLDERS, check_templates

REPORT = examples.small()


def own(folder: Path, name: str, body: str) -> Path:
    """A folder with one template that extends ours."""
    (folder / name).write_text(f'{{% extends "repeat-eval/{name}" %}}\n{body}', encoding="utf-8")
    return folder


def comment(folder: Path, body: str) -> str:
    return render_comment(REPORT, templates=own(folder, "comment.md.j2", body))


def problems(folder: Path) -> list[str]:
    with pytest.raises(UserError) as raised:
        check_templates(folder)
    return [str(problem) for problem in raised.value.problems]


def test_a_block_of_the_comment_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    before = render_comment(REPORT)
    after = comment(tmp_path, "{% block about %}Ask the team.\n\n{% endblock %}")

    assert after.splitlines()[0] == before.splitlines()[0]
    assert after.splitlines()[2] == "Ask the team."
    assert after.split("\n\n", 2)[2] == before.split("\n\n", 2)[2]


def test_a_block_can_be_kept_and_added_to(tmp_path: Path) -> None:
    folder = own(
        tmp_path, "summary.md.j2", "{% block measured %}{{ super() }}\n{{ totals.cases }} in all\n{% endblock %}"
    )

    assert render_summary(REPORT, templates=folder) == f"{render_summary(REPORT)}\n{REPORT.totals.cases} in all\n"


@pytest.mark.parametrize("report", [REPORT, compared.mixed()], ids=["single", "compared"])
def test_a_template_that_overrides_nothing_changes_nothing(report: object, tmp_path: Path) -> None:
    for name in FOLDERS:
        own(tmp_path, name, "")

    check_templates(tmp_path)
    assert render_comment(report, templates=tmp_path) == render_comment(report)  # type: ignore[arg-type]
    assert render_summary(report, templates=tmp_path) == render_summary(report)  # type: ignore[arg-type]
    assert render_html(report, templates=tmp_path) == render_html(report)  # type: ignore[arg-type]


def test_in_the_page_texts_are_escaped_and_the_policy_stays(tmp_path: Path) -> None:
    folder = own(
        tmp_path, "page.html.j2", "{% block footer %}<p id=own>{{ report.suite }}</p><script>1</script>{% endblock %}"
    )
    report = examples.report([examples.case("a", "PF")], suite="<img src=x>")

    found, plain = render_html(report, templates=folder), render_html(report)

    assert "<p id=own>&lt;img src=x&gt;</p>" in found
    policy = re.compile(r'http-equiv="Content-Security-Policy" content="[^"]+"')
    assert policy.search(found)[0] == policy.search(plain)[0], (
        "a script of the template's own is not among those allowed"
    )  # type: ignore[index]


def test_a_template_can_include_files_beside_it_and_the_parts_of_ours_stay_ours(tmp_path: Path) -> None:
    (tmp_path / "contact.md").write_text("Ask {{ report.suite | prose }}.", encoding="utf-8")
    (tmp_path / "table.md.j2").write_text("not ours", encoding="utf-8")

    assert "Ask " in comment(tmp_path, '{% block about %}{% include "contact.md" %}{% endblock %}')
    assert "not ours" not in comment(tmp_path, "")


@pytest.mark.parametrize(
    "reach",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ f.__builtins__ }}",
        "{{ f.rate_text }}",
        "{{ f.CaseReport }}",
        "{{ f.percent.__globals__ }}",
        "{{ f['__loader__'] }}",
        "{{ (f | attr('__spec__')).loader }}",
        "{{ f.log10(10) }}",
        "{{ report.__class__ }}",
        "{{ report.reasons.append(1) }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ '{0.__class__}'.format(f) }}",
        "{% include '/etc/passwd' %}",
        "{% include '../secret' %}",
        "{% for n in range(10 ** 9) %}{% endfor %}",
        "{{ no_such_thing }}",
        "{{ 1 / 0 }}",
    ],
)
def test_nothing_but_the_report_and_its_words_can_be_reached(reach: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    folder = tmp_path / "templates"
    folder.mkdir()

    with pytest.raises(UserError, match=r"the template cannot be rendered") as raised:
        comment(folder, f"{{% block about %}}{reach}{{% endblock %}}")

    (problem,) = raised.value.problems
    assert (problem.file, problem.line) == (str(folder / "comment.md.j2"), 2)


def test_all_that_is_wrong_is_told_before_anything_is_rendered(tmp_path: Path) -> None:
    own(tmp_path, "comment.md.j2", "{% block headline %}{% endblock %}\n{% block abuot %}{% endblock %}")
    (tmp_path / "summary.md.j2").write_text("a\n{% if %}", encoding="utf-8")
    (tmp_path / "page.html.j2").write_text("<h1>mine</h1>", encoding="utf-8")

    found = problems(tmp_path)

    assert found[0].startswith(
        f"{tmp_path / 'comment.md.j2'}:3: unknown block 'abuot'; there are headline, about, looks"
    )
    assert found[1].startswith(f"{tmp_path / 'summary.md.j2'}:2: not a Jinja template: ")
    assert (
        found[2]
        == f'{tmp_path / "page.html.j2"}:1: the template must begin with {{% extends "repeat-eval/page.html.j2" %}}'
    )


def test_a_folder_without_templates_and_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    assert "none of the templates that can be overridden" in problems(tmp_path)[0]
    (tmp_path / "comment.md.j2").write_bytes(b"\xff")
    assert "the template cannot be read" in problems(tmp_path)[0]


def test_a_long_block_of_the_user_s_is_shed_like_the_rest_and_the_verdict_stays(tmp_path: Path) -> None:
    text = comment(tmp_path, "{% block about %}{{ 'long ' * 50000 }}{% endblock %}")

    assert len(text) < 65_536
    assert text.splitlines()[0] == render_comment(REPORT).splitlines()[0]


def run(folder: Path, *more: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    (folder / "report.json").write_bytes(to_json(REPORT))
    done = CliRunner().invoke(
        cli, ["report", str(folder / "report.json"), "--out", str(folder / "out"), "-q", *more], env=env
    )
    return done.exit_code, str(done.exception or "")


def test_the_command_takes_the_folder_as_an_option_or_a_variable(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    own(templates, "comment.md.j2", "{% block about %}Ask the team.\n\n{% endblock %}")
    for more, env in ((["--templates", str(templates)], None), ([], {"REPEAT_EVAL_TEMPLATES": str(templates)})):
        run(tmp_path, *more, env=env)
        assert "Ask the team." in (tmp_path / "out" / "comment.md").read_text(encoding="utf-8")


def test_a_folder_that_is_wrong_is_told_before_anything_is_written(tmp_path: Path) -> None:
    code, error = run(tmp_path, "--templates", str(tmp_path / "nowhere"))

    assert code != 0
    assert "none of the templates" in error
    assert not (tmp_path / "out").exists()
