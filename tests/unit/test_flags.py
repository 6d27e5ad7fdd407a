"""The command line as nats-server has it: spellings, values, and what wins over what."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.flags import FLAG_OF_NAME, UsageError, parse
from penstock.config.options import Authorization, Options, User
from penstock.config.problems import ConfigError
from penstock.config.unsupported import FLAGS as UNSUPPORTED


def changed(*arguments: str) -> dict[str, Any]:
    """Only what differs from the defaults."""
    options, defaults = parse(arguments, {}).options, Options()
    return {
        field: getattr(options, field)
        for field in Options.__struct_fields__
        if getattr(options, field) != getattr(defaults, field)
    }


def refusal(*arguments: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(arguments, {})
    return str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "4333"],
        ["-p=4333"],
        ["--p", "4333"],
        ["-port", "4333"],
        ["--port", "4333"],
        ["--port=4333"],
        ["-p", "1", "--port", "4333"],
    ],
)
def test_one_dash_or_two_and_a_value_after_a_blank_or_an_equals_sign(arguments: list[str]) -> None:
    assert changed(*arguments) == {"port": 4333}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {}),
        ("-p -1", {"port": -1}),
        ("-p=-1", {"port": -1}),
        ("-p 0", {}),
        ("-a 127.0.0.1", {"host": "127.0.0.1"}),
        ("--addr localhost", {"host": "localhost"}),
        ("--net localhost", {"host": "localhost"}),
        ("-m 8222", {"http_port": 8222}),
        ("--http_port -1", {"http_port": -1}),
        ("-m 0", {}),
        ("-n one", {"server_name": "one"}),
        ("--name one", {"server_name": "one"}),
        ("--server_name one", {"server_name": "one"}),
        ("--client_advertise h:4222", {"client_advertise": "h:4222"}),
        ("-js", {"jetstream": True}),
        ("--jetstream", {"jetstream": True}),
        ("-js=true", {"jetstream": True}),
        ("-js=false", {}),
        ("-sd /data", {"store_dir": Path("/data")}),
        ("--store_dir /data", {"store_dir": Path("/data")}),
        ("-l nats.log", {"log_file": Path("nats.log")}),
        ("--log nats.log", {"log_file": Path("nats.log")}),
        ("-P nats.pid", {"pid_file": Path("nats.pid")}),
        ("--pid nats.pid", {"pid_file": Path("nats.pid")}),
        ("--ports_file_dir /run", {"ports_file_dir": Path("/run")}),
        ("-D", {"debug": True}),
        ("--debug", {"debug": True}),
        ("-V", {"trace": True}),
        ("--trace", {"trace": True}),
        ("-VV", {"trace": True}),
        ("-DV", {"debug": True, "trace": True}),
        ("-DVV", {"debug": True, "trace": True}),
        ("-D -V", {"debug": True, "trace": True}),
        ("-T=false", {"log_time": False}),
        ("--logtime=0", {"log_time": False}),
        ("-T", {}),
    ],
)
def test_flags(line: str, expected: dict[str, Any]) -> None:
    assert changed(*line.split()) == expected


@pytest.mark.parametrize("word", ["1", "t", "T", "true", "TRUE", "True"])
def test_words_for_true(word: str) -> None:
    assert changed(f"-D={word}") == {"debug": True}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-p", "flag needs an argument: -p"),
        ("-p x", "argument -p/--port: expected a port, not 'x'"),
        ("-p 1_000", "argument -p/--port: expected a port, not '1_000'"),
        ("-p 65536", "argument -p/--port: expected a port up to 65535"),
        ("-p -2", "argument -p/--port: expected a port up to 65535"),
        ("-D=maybe", "argument -D/--debug: expected true or false, not 'maybe'"),
        ("-D true", "unexpected argument 'true': every option starts with a dash"),
        ("serve", "unexpected argument 'serve': every option starts with a dash"),
        ("--", "unexpected argument '--'"),
        ("-p4333", "flag provided but not defined: -p4333"),
        ("--por 4333", "flag provided but not defined: --por"),
        ("---port 4333", "flag provided but not defined: ---port"),
        ("-DP", "flag provided but not defined: -DP"),
        ("--secret=hush", "flag provided but not defined: --secret"),
        ("-t", "-t tests a configuration file: give one with -c <file>"),
        ("--cluster nats://0.0.0.0:6222", "flag --cluster is not supported by penstock yet"),
        ("-routes=nats://a", "flag --routes is not supported by penstock yet"),
        ("--tls", "flag --tls is not supported by penstock yet"),
        ("-sl quit", "flag --sl is not supported by penstock"),
        ("--auth a --user b", "--auth and --user can not be given together"),
        ("--pass a", "--pass needs --user: nobody would be asked for the password"),
        ("--client_advertise :4222", 'argument --client_advertise: expected "host" or "host:port"'),
    ],
)
def test_refusals_are_one_line(line: str, expected: str) -> None:
    message = refusal(*line.split())
    assert message.startswith(expected)
    assert "\n" not in message


def test_a_server_name_has_no_blanks() -> None:
    assert "can not contain spaces" in refusal("-n", "two words")


def test_a_value_may_look_like_a_flag() -> None:
    assert changed("--user", "-js", "--pass", "--secret")["authorization"].users == (
        User(user="-js", password="--secret"),
    )
    assert changed("--auth", "a=b")["authorization"] == Authorization(token="a=b")


def test_version_and_test() -> None:
    assert parse(["-v"], {}).version
    assert parse(["--version", "-c", "not-read.conf"], {}).version
    assert not parse([], {}).version


def test_help_is_the_only_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["--help"], {})
    assert caught.value.code == 0
    assert "-p, --port <port>" in capsys.readouterr().out


def written(directory: Path, text: str) -> str:
    file = directory / "server.conf"
    file.write_text(text)
    return str(file)


def test_the_file_sets_what_the_flags_leave_open(tmp_path: Path) -> None:
    file = written(tmp_path, "port: 4333, debug: true, http: 8222, server_name: one")
    assert changed("-c", file) == {
        "port": 4333,
        "debug": True,
        "http_port": 8222,
        "server_name": "one",
    }
    assert changed("-c", file, "-p", "4444", "-D=false", "-m", "0", "-n", "two") == {
        "port": 4444,
        "server_name": "two",
    }
    assert parse(["--config", file], {}).config_file == Path(file)


@pytest.mark.parametrize(
    ("block", "line", "token", "users"),
    [
        ("token: a", "--auth b", "b", {}),
        ("token: a", "--user u --pass p", None, {"u": "p"}),
        ("user: u, pass: p", "--auth b", "b", {}),
        ("user: u, pass: p", "--pass q", None, {"u": "q"}),
        ("user: u, pass: p", "--user v", None, {"v": "p"}),
        ("users: [{user: u, pass: p}, {user: v, pass: p}]", "--user w", None, {"w": ""}),
        ("users: [{user: u, pass: p}]", "-D", None, {"u": "p"}),
    ],
)
def test_credentials_of_the_command_line_replace_those_of_the_file(
    tmp_path: Path, block: str, line: str, token: str | None, users: dict[str, str]
) -> None:
    file = written(tmp_path, f"authorization {{ timeout: 5, {block} }}")
    authorization = parse(["-c", file, *line.split()], {}).options.authorization
    assert authorization.token == token
    assert {user.user: user.password for user in authorization.users} == users
    assert authorization.timeout_ns == 5_000_000_000


def test_variables_come_from_the_environment_that_is_given(tmp_path: Path) -> None:
    file = written(tmp_path, "port: $CLIENT_PORT")
    assert parse(["-c", file], {"CLIENT_PORT": "4333"}).options.port == 4333


def test_a_wrong_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"server.conf:1:1: unknown field 'prot'"):
        parse(["-c", written(tmp_path, "prot: 4222")], {})
    with pytest.raises(ConfigError, match="No such file or directory"):
        parse(["-c", "none.conf"], {})


def test_a_warning_fails_only_the_test_of_a_configuration(tmp_path: Path) -> None:
    file = written(tmp_path, "ping_interval: 30")
    (warning,) = parse(["-c", file], {}).warnings
    assert str(warning).endswith('ping_interval should be converted to a duration: "30s"')
    with pytest.raises(ConfigError, match="should be converted"):
        parse(["-t", "-c", file], {})
    assert parse(["-t", "-c", written(tmp_path, "port: 4222")], {}).test_config


def test_no_flag_is_both_known_and_unsupported() -> None:
    assert not FLAG_OF_NAME.keys() & UNSUPPORTED.keys()


@given(
    st.lists(
        st.one_of(
            st.sampled_from([f"-{name}" for name in FLAG_OF_NAME]),
            st.text(max_size=10),
        ),
        max_size=6,
    )
)
def test_any_arguments_give_an_invocation_or_an_error(arguments: list[str]) -> None:
    try:
        parse(arguments, {})
    except UsageError as error:
        assert "\n" not in str(error)
    except SystemExit as exit_of_help:
        assert exit_of_help.code == 0
    except ConfigError as error:
        assert error.problems
