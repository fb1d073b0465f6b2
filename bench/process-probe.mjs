// Preloaded (--import, with --expose-gc) into a gateway whose memory is measured. Responds to the IPC message
// `memory` with the memory in use after a forced collection. The IPC channel does not keep the process alive.

process.on('message', async (question) => {
  if (question !== 'memory') return;
  // A collection finalizes objects, and the next collection frees them.
  for (let pass = 0; pass < 3; pass += 1) {
    globalThis.gc();
    await new Promise((done) => setImmediate(done));
  }
  process.send({ memory: process.memoryUsage() });
});
process.channel?.unref();
