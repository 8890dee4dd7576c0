use super::*;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, LocalOptions};

const RESPONSES: usize = 60;

/// Keep this thread on a core.
fn pin(core: i32) {
    // SAFETY: a zeroed set is an empty one, and the core is one that a thread has been on.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core as usize, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set), 0);
    }
}

/// Time in ms that responses waited for a worker whose core two other threads use: by the sender's
/// clock, and by the scheduler.
fn waits() -> Vec<(f64, f64)> {
    // SAFETY: it takes no arguments.
    let core = unsafe { libc::sched_getcpu() };
    let over = Arc::new(AtomicBool::new(false));
    let others = [(); 2].map(|()| {
        let over = Arc::clone(&over);
        thread::spawn(move || {
            pin(core);
            while !over.load(Relaxed) {}
        })
    });
    let (mut sender, receiver) = UnixStream::pair().unwrap();
    receiver.set_nonblocking(true).unwrap();
    let (sent, times) = channel();
    let (taken, requests) = channel();
    let sender_thread = thread::spawn(move || {
        for () in requests {
            thread::sleep(Duration::from_millis(5));
            sent.send(Instant::now()).unwrap();
            sender.write_all(b"answer").unwrap();
        }
    });
    let runtime = Builder::new_current_thread()
        .enable_all()
        .on_thread_unpark(woke)
        .build_local(LocalOptions::default())
        .unwrap();
    let waits = runtime.block_on(async {
        pin(core);
        watch();
        let mut receiver = tokio::net::UnixStream::from_std(receiver).unwrap();
        let mut waits = Vec::new();
        for _ in 0..RESPONSES {
            taken.send(()).unwrap();
            receiver.read_exact(&mut [0; 6]).await.unwrap();
            let estimate = delay_ns().unwrap() as f64 / 1e6;
            waits.push((times.recv().unwrap().elapsed().as_secs_f64() * 1e3, estimate));
        }
        drop(taken);
        waits
    });
    over.store(true, Relaxed);
    others.into_iter().for_each(|other| other.join().unwrap());
    sender_thread.join().unwrap();
    waits
}

#[test]
fn the_scheduler_shows_how_long_a_response_waited_for_its_worker() {
    let waits = waits();
    let median = |mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of[RESPONSES / 2]
    };
    let truth = median(waits.iter().map(|(truth, _)| *truth).collect());
    let off = median(waits.iter().map(|(truth, estimate)| (truth - estimate).abs()).collect());
    assert!(off < 0.2f64.max(truth / 4.0), "off by {off} ms of {truth}: {waits:?}");
    let longest = waits.iter().map(|(truth, _)| *truth).fold(0.0, f64::max);
    assert!(longest > 0.2, "they did not wait: {waits:?}");
}
