"""JetStream on a running server: stores, the commit log, routes and the API's front."""
