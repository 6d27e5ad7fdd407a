"""For the tests of programs that use JetStream: a pytest plugin with servers."""
