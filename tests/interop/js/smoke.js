// nats.js against a server: `node smoke.js nats://127.0.0.1:4222`. Every line printed is a part that
// went well; the first that does not ends the program with an error.
import assert from "node:assert/strict";
import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { Objm } from "@nats-io/obj";
import { connect, createInbox, headers } from "@nats-io/transport-node";

const nc = await connect({ servers: process.argv[2], name: "smoke" });

async function core() {
  const wild = nc.subscribe("core.*", { max: 2 });
  const h = headers();
  h.append("Region", "eu");
  nc.publish("core.a", "one", { headers: h });
  nc.publish("other.a", "not for us");
  nc.publish("core.b", "two");
  const got = [];
  for await (const m of wild) got.push([m.subject, m.string(), m.headers?.get("Region") ?? ""]);
  assert.deepEqual(got, [["core.a", "one", "eu"], ["core.b", "two", ""]]);

  const shares = [0, 0];
  shares.forEach((_, i) => nc.subscribe("jobs", { queue: "workers", callback: () => shares[i]++ }));
  for (let i = 0; i < 100; i++) nc.publish("jobs", "job");
  await nc.flush();
  assert.equal(shares[0] + shares[1], 100);

  const service = nc.subscribe("greet", { callback: (_, m) => m.respond(`hello ${m.string()}`) });
  assert.equal((await nc.request("greet", "world", { timeout: 5000 })).string(), "hello world");
  const many = [];
  for await (const m of await nc.requestMany("greet", "all", { maxMessages: 1 })) many.push(m.string());
  assert.deepEqual(many, ["hello all"]);
  service.unsubscribe();
  await assert.rejects(nc.request(createInbox("nobody"), ""), (error) => error.isNoResponders());
}

async function streams() {
  const jsm = await jetstreamManager(nc);
  const js = jetstream(nc);
  await jsm.streams.add({ name: "ORDERS", subjects: ["orders.>"], max_msgs: 5, allow_direct: true });
  const first = await js.publish("orders.eu", "one", { msgID: "id-1" });
  assert.deepEqual([first.stream, first.seq, first.duplicate], ["ORDERS", 1, false]);
  assert.equal((await js.publish("orders.eu", "again", { msgID: "id-1" })).duplicate, true);
  await assert.rejects(js.publish("orders.eu", "", { expect: { lastSequence: 99 } }), { code: 10071 });
  for (let i = 0; i < 6; i++) await js.publish("orders.us", `${i}`);
  const info = await jsm.streams.info("ORDERS", { subjects_filter: ">" });
  assert.deepEqual([info.state.messages, info.state.first_seq, info.state.last_seq], [5, 3, 7]);
  assert.deepEqual(info.state.subjects, { "orders.us": 5 });
  assert.equal((await jsm.streams.getMessage("ORDERS", { seq: 7 })).string(), "5");
  assert.equal((await jsm.direct.getMessage("ORDERS", { last_by_subj: "orders.us" })).string(), "5");
  const batch = [];
  for await (const m of await jsm.direct.getBatch("ORDERS", { seq: 3, batch: 3 })) batch.push(m.seq);
  assert.deepEqual(batch, [3, 4, 5]);
  await jsm.streams.deleteMessage("ORDERS", 4);
  await jsm.streams.update("ORDERS", { max_msgs: -1 });
  assert.equal((await jsm.streams.purge("ORDERS", { keep: 1 })).purged, 3);
  const names = [];
  for await (const s of jsm.streams.names()) names.push(s);
  assert.deepEqual(names, ["ORDERS"]);
  assert.equal(await jsm.streams.delete("ORDERS"), true);
}

async function consumers() {
  const jsm = await jetstreamManager(nc);
  const js = jetstream(nc);
  await jsm.streams.add({ name: "WORK", subjects: ["work.>"], retention: RetentionPolicy.Workqueue });
  for (let i = 1; i <= 20; i++) await js.publish(`work.${i % 2 ? "odd" : "even"}`, `${i}`);
  await jsm.consumers.add("WORK", { // one at a time, so that what is refused comes before all others
    durable_name: "odd", ack_policy: AckPolicy.Explicit, filter_subject: "work.odd", max_ack_pending: 1,
  });
  const odd = await js.consumers.get("WORK", "odd");
  const refused = await odd.next();
  assert.equal(refused.string(), "1");
  refused.nak();
  const again = await odd.next();
  assert.deepEqual([again.seq, again.info.deliveryCount], [1, 2]);
  assert.equal(await again.ackAck(), true);
  const fetched = [];
  for await (const m of await odd.fetch({ max_messages: 5, expires: 5000 })) {
    fetched.push(m.string());
    m.ack();
  }
  assert.deepEqual(fetched, ["3", "5", "7", "9", "11"]);
  const consumed = [];
  for await (const m of await odd.consume()) {
    consumed.push(m.string());
    assert.equal(await m.ackAck(), true);
    if (consumed.length === 4) break;
  }
  assert.deepEqual(consumed, ["13", "15", "17", "19"]);
  const info = await odd.info();
  assert.deepEqual([info.num_pending, info.num_ack_pending], [0, 0]);
  assert.equal((await jsm.streams.info("WORK")).state.messages, 10);
  await assert.rejects(jsm.consumers.add("WORK", {
    durable_name: "overlap", ack_policy: AckPolicy.Explicit, filter_subject: "work.>",
  }), { code: 10100 });

  await jsm.streams.add({ name: "LOG", subjects: ["log.>"] });
  for (let i = 1; i <= 500; i++) js.publish(`log.${i % 5}`, `${i}`);
  await nc.flush();
  const ordered = await js.consumers.get("LOG", { filter_subjects: ["log.1", "log.2"], deliver_policy: DeliverPolicy.All });
  let last = 0, seen = 0;
  for await (const m of await ordered.consume({ max_messages: 50 })) {
    assert.ok(m.seq > last);
    last = m.seq;
    if (++seen === 200) break;
  }
  await jsm.consumers.add("LOG", {
    durable_name: "pushed", deliver_subject: createInbox(), deliver_policy: DeliverPolicy.Last,
    ack_policy: AckPolicy.Explicit, flow_control: true, idle_heartbeat: 5e9,
  });
  const pushed = await js.consumers.getPushConsumer("LOG", "pushed");
  for await (const m of await pushed.consume()) {
    assert.equal(m.string(), "500");
    assert.equal(await m.ackAck(), true);
    break;
  }
  await jsm.streams.delete("LOG");
  await jsm.streams.delete("WORK");
}

async function keyValue() {
  const kv = await new Kvm(nc).create("settings", { history: 3, ttl: 0, markerTTL: 2000 });
  const revision = await kv.put("colour", "red");
  assert.equal((await kv.get("colour")).string(), "red");
  await kv.update("colour", "blue", revision);
  await assert.rejects(kv.update("colour", "green", revision), { code: 10071 });
  await assert.rejects(kv.create("colour", "green"));
  const history = [];
  for await (const e of await kv.history({ key: "colour" })) history.push(e.string());
  assert.deepEqual(history, ["red", "blue"]);
  const watched = await kv.watch({ key: "size", include: "updates" });
  await kv.create("size", "10", "1s");
  await kv.put("shape", "round");
  await kv.delete("shape");
  const seen = [];
  for await (const e of watched) {
    seen.push([e.key, e.operation]);
    if (seen.length === 2) break; // the value, and that it is over
  }
  assert.deepEqual(seen[0], ["size", "PUT"]);
  assert.notEqual(seen[1][1], "PUT");
  const keys = [];
  for await (const k of await kv.keys()) keys.push(k);
  assert.ok(keys.includes("colour") && !keys.includes("shape"));
  assert.equal((await kv.status()).history, 3);
  assert.equal(await kv.destroy(), true);
}

async function objects() {
  const store = await new Objm(nc).create("files");
  const bytes = new Uint8Array(300_000).map((_, i) => i % 251);
  await store.putBlob({ name: "large", options: { max_chunk_size: 64 * 1024 } }, bytes);
  assert.deepEqual(await store.getBlob("large"), bytes);
  assert.equal((await store.info("large")).chunks, 5);
  assert.equal((await store.delete("large")).purged > 0, true);
  assert.equal(await store.destroy(), true);
}

for (const part of [core, streams, consumers, keyValue, objects]) {
  await part();
  console.log(part.name);
}
await nc.drain();
