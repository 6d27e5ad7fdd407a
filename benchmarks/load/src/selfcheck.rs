//! `selfcheck`: the generator against a thread that is not a server, each direction alone.
//!
//! A sink swallows what a publisher sends; a fountain fills a subscriber with finished frames. A
//! generator that is not far above the server under test in both would measure itself.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use crate::Outcome;
use crate::blocks::Block;
use crate::engine::Engine;
use crate::options::Options;
use crate::pubsub::{Mark, Window, publish_for};
use crate::report::Report;

/// Plays the server until the PING that ends the handshake; `pings` of them.
fn greet(stream: &mut TcpStream, pings: usize) -> std::io::Result<()> {
    stream.write_all(b"INFO {\"server_id\":\"sink\",\"max_payload\":1048576}\r\n")?;
    for _ in 0..pings {
        let mut received = Vec::new();
        while !received.ends_with(b"PING\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            received.extend_from_slice(&byte);
        }
        stream.write_all(b"PONG\r\n")?;
    }
    Ok(())
}

fn sink(listener: &TcpListener) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    greet(&mut stream, 1)?;
    let mut buffer = vec![0; 1 << 20];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

fn fountain(listener: &TcpListener, mut block: Block) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    greet(&mut stream, 2)?;
    let mut sequence = 0;
    loop {
        let end = block.fill(0, sequence, block.count());
        stream.write_all(&block.bytes()[..end])?;
        sequence += block.count() as u64;
    }
}

type Played = JoinHandle<std::io::Result<()>>;

fn measured(options: &Options, extra: &[(&'static str, &str)], played: Played) -> Outcome<Window> {
    let mut engine = Engine::connect(&options.with(extra))?;
    publish_for(&mut engine, options.duration("warmup")?)?;
    let start = Mark::of(&engine, None);
    publish_for(&mut engine, options.duration("seconds")?)?;
    let window = start.until(&Mark::of(&engine, None));
    drop(engine); // closes the connection, which ends the thread (with an error, if it writes)
    let _ = played.join();
    Ok(window)
}

pub fn run(options: &Options) -> Outcome<Report> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port().to_string();
    let played = std::thread::spawn(move || sink(&listener));
    let extra = [
        ("port", port.as_str()),
        ("publishers", "1"),
        ("subscribers", "0"),
    ];
    let out = measured(options, &extra, played)?;

    let size: usize = options.number("size")?;
    let block = Block::new(
        &[format!("MSG {} 1 {size}\r\n", options.text("subject"))],
        size,
    )?;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port().to_string();
    let played = std::thread::spawn(move || fountain(&listener, block));
    let extra = [
        ("port", port.as_str()),
        ("publishers", "0"),
        ("subscribers", "1"),
    ];
    let received = measured(options, &extra, played)?;
    Ok(Report::default()
        .number("publish_rate", out.sent as f64 / out.seconds)
        .number("receive_rate", received.delivered_rate()))
}
