module penstock.example/interop

go 1.25.0

require github.com/nats-io/nats.go v1.55.0
