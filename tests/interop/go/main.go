// nats.go against a server: `smoke-go nats://127.0.0.1:4222`. Every line printed is a part that went
// well; the first that does not ends the program with an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const patience = 10 * time.Second

// must ends the program with an error of the client.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// equal ends the program if the server answers otherwise.
func equal[T comparable](what string, got, wanted T) {
	if got != wanted {
		panic(fmt.Sprintf("%s: got %v, wanted %v", what, got, wanted))
	}
}

func refused(what string, err error, code jetstream.ErrorCode) {
	var told *jetstream.APIError
	if !errors.As(err, &told) {
		panic(fmt.Sprintf("%s: got %v, wanted error %d", what, err, code))
	}
	equal(what, told.ErrorCode, code)
}

func core(_ context.Context, nc *nats.Conn) {
	wild := must(nc.SubscribeSync("core.*"))
	message := nats.NewMsg("core.a")
	message.Header.Set("Region", "eu")
	message.Data = []byte("one")
	check(nc.PublishMsg(message))
	check(nc.Publish("other.a", []byte("not for us")))
	check(nc.Publish("core.b", []byte("two")))
	first := must(wild.NextMsg(patience))
	equal("header", first.Header.Get("Region"), "eu")
	equal("second", string(must(wild.NextMsg(patience)).Data), "two")

	var jobs atomic.Int32
	for range 2 {
		must(nc.QueueSubscribe("jobs", "workers", func(*nats.Msg) { jobs.Add(1) }))
	}
	must(nc.Subscribe("jobs.done", func(m *nats.Msg) { check(m.Respond(fmt.Append(nil, jobs.Load()))) }))
	for range 100 {
		check(nc.Publish("jobs", nil))
	}
	must(nc.Subscribe("greet", func(m *nats.Msg) { check(m.Respond(append([]byte("hello "), m.Data...))) }))
	equal("request", string(must(nc.Request("greet", []byte("world"), patience)).Data), "hello world")
	for string(must(nc.Request("jobs.done", nil, patience)).Data) != "100" {
	}
	_, err := nc.Request("nobody.home", nil, patience)
	equal("no responders", errors.Is(err, nats.ErrNoResponders), true)
}

func streams(ctx context.Context, nc *nats.Conn) {
	js := must(jetstream.New(nc))
	config := jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, MaxMsgs: 5, AllowDirect: true}
	stream := must(js.CreateStream(ctx, config))
	equal("first", must(js.Publish(ctx, "orders.eu", []byte("one"), jetstream.WithMsgID("id-1"))).Sequence, 1)
	equal("duplicate", must(js.Publish(ctx, "orders.eu", nil, jetstream.WithMsgID("id-1"))).Duplicate, true)
	_, err := js.Publish(ctx, "orders.eu", nil, jetstream.WithExpectLastSequence(99))
	refused("expectation", err, jetstream.JSErrCodeStreamWrongLastSequence)
	for number := range 6 {
		must(js.PublishAsync("orders.us", fmt.Append(nil, number)))
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(patience):
		panic("acknowledgements are missing")
	}
	info := must(stream.Info(ctx, jetstream.WithSubjectFilter(">")))
	equal("messages", info.State.Msgs, 5)
	equal("first sequence", info.State.FirstSeq, 3)
	equal("of a subject", info.State.Subjects["orders.us"], 5)
	equal("message", string(must(stream.GetMsg(ctx, 7)).Data), "5")
	equal("last", string(must(stream.GetLastMsgForSubject(ctx, "orders.us")).Data), "5")
	check(stream.DeleteMsg(ctx, 4))
	_, err = stream.GetMsg(ctx, 4)
	equal("deleted", errors.Is(err, jetstream.ErrMsgNotFound), true)
	config.MaxMsgs = -1
	must(js.UpdateStream(ctx, config))
	check(stream.Purge(ctx, jetstream.WithPurgeKeep(1)))
	equal("purged", must(stream.Info(ctx)).State.Msgs, 1)
	var names []string
	for name := range js.StreamNames(ctx).Name() {
		names = append(names, name)
	}
	equal("names", slices.Equal(names, []string{"ORDERS"}), true)
	check(js.DeleteStream(ctx, "ORDERS"))
}

func consumers(ctx context.Context, nc *nats.Conn) {
	js := must(jetstream.New(nc))
	work := must(js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "WORK", Subjects: []string{"work.>"}, Retention: jetstream.WorkQueuePolicy,
	}))
	for number := 1; number <= 20; number++ {
		must(js.Publish(ctx, []string{"work.even", "work.odd"}[number%2], fmt.Append(nil, number)))
	}
	// One at a time, so that what is refused comes before all others.
	odd := must(work.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "odd", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "work.odd", MaxAckPending: 1,
	}))
	first := must(odd.Next(jetstream.FetchMaxWait(patience)))
	equal("first", string(first.Data()), "1")
	check(first.Nak())
	again := must(odd.Next(jetstream.FetchMaxWait(patience)))
	equal("deliveries", must(again.Metadata()).NumDelivered, 2)
	check(again.DoubleAck(ctx))
	fetched := ""
	for message := range must(odd.Fetch(5, jetstream.FetchMaxWait(patience))).Messages() {
		fetched += string(message.Data()) + " "
		check(message.DoubleAck(ctx))
	}
	equal("fetched", fetched, "3 5 7 9 11 ")
	rest := must(odd.Messages())
	for _, wanted := range []string{"13", "15", "17", "19"} {
		message := must(rest.Next(jetstream.NextContext(ctx)))
		equal("consumed", string(message.Data()), wanted)
		check(message.DoubleAck(ctx))
	}
	rest.Stop()
	equal("pending", must(odd.Info(ctx)).NumPending, 0)
	equal("left", must(work.Info(ctx)).State.Msgs, 10)
	_, err := work.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "overlap", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "work.>",
	})
	refused("overlap", err, 10100)
	check(js.DeleteStream(ctx, "WORK"))
	ordered(ctx, js)
}

func ordered(ctx context.Context, js jetstream.JetStream) {
	log := must(js.CreateStream(ctx, jetstream.StreamConfig{Name: "LOG", Subjects: []string{"log.>"}}))
	for number := range 500 {
		must(js.PublishAsync(fmt.Sprintf("log.%d", number%5), nil))
	}
	<-js.PublishAsyncComplete()
	reader := must(log.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"log.1", "log.2"},
	}))
	messages := must(reader.Messages(jetstream.PullMaxMessages(50)))
	last := uint64(0)
	for range 200 {
		meta := must(must(messages.Next(jetstream.NextContext(ctx))).Metadata())
		equal("order", meta.Sequence.Stream > last, true)
		last = meta.Sequence.Stream
	}
	messages.Stop()
	check(js.DeleteStream(ctx, "LOG"))
}

func keyValue(ctx context.Context, nc *nats.Conn) {
	js := must(jetstream.New(nc))
	bucket := must(js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: "settings", History: 3, LimitMarkerTTL: 2 * time.Second,
	}))
	revision := must(bucket.PutString(ctx, "colour", "red"))
	must(bucket.Update(ctx, "colour", []byte("blue"), revision))
	_, err := bucket.Update(ctx, "colour", []byte("green"), revision)
	refused("update", err, jetstream.JSErrCodeStreamWrongLastSequence)
	_, err = bucket.Create(ctx, "colour", nil)
	equal("create", errors.Is(err, jetstream.ErrKeyExists), true)
	equal("value", string(must(bucket.Get(ctx, "colour")).Value()), "blue")
	equal("history", len(must(bucket.History(ctx, "colour"))), 2)
	watcher := must(bucket.Watch(ctx, "size", jetstream.UpdatesOnly()))
	must(bucket.Create(ctx, "size", []byte("10"), jetstream.KeyTTL(time.Second)))
	equal("put", (<-watcher.Updates()).Operation(), jetstream.KeyValuePut)
	equal("it is over", (<-watcher.Updates()).Operation() != jetstream.KeyValuePut, true)
	check(watcher.Stop())
	must(bucket.PutString(ctx, "shape", "round"))
	check(bucket.Delete(ctx, "shape"))
	_, err = bucket.Get(ctx, "shape")
	equal("deleted", errors.Is(err, jetstream.ErrKeyNotFound), true)
	check(bucket.PurgeDeletes(ctx, jetstream.DeleteMarkersOlderThan(-1)))
	equal("bucket", must(bucket.Status(ctx)).History(), 3)
	check(js.DeleteKeyValue(ctx, "settings"))
}

func objects(ctx context.Context, nc *nats.Conn) {
	js := must(jetstream.New(nc))
	store := must(js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "files"}))
	large := make([]byte, 300_000)
	for at := range large {
		large[at] = byte(at % 251)
	}
	must(store.PutBytes(ctx, "large", large))
	equal("object", slices.Equal(must(store.GetBytes(ctx, "large")), large), true)
	check(store.Delete(ctx, "large"))
	check(js.DeleteObjectStore(ctx, "files"))
}

func main() {
	nc := must(nats.Connect(os.Args[1], nats.Name("smoke")))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	parts := []struct {
		name string
		run  func(context.Context, *nats.Conn)
	}{{"core", core}, {"streams", streams}, {"consumers", consumers}, {"keyValue", keyValue}, {"objects", objects}}
	for _, part := range parts {
		part.run(ctx, nc)
		fmt.Println(part.name)
	}
	check(nc.Drain())
}
