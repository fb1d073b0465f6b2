// Preloaded (--import) into a gateway whose memory is measured, together with --expose-gc: answers a message on the IPC
// channel with what is in use after a forced collection. It keeps no process alive and is no part of the gateway.

process.on('message', async (question) => {
  if (question !== 'memory') return;
  // What a first collection lets finalize is garbage only for the next one.
  for (let pass = 0; pass < 3; pass += 1) {
    globalThis.gc();
    await new Promise((done) => setImmediate(done));
  }
  process.send({ memory: process.memoryUsage() });
});
process.channel?.unref();
