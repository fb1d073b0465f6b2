// Measures the start time of processes.

import { connect } from 'node:net';
import { join } from 'node:path';
import { startProcess } from './processes.mjs';

/** Time limit for the answer of /health. */
const deadlineMs = 20_000;

/** Returns the milliseconds from the start of `node` with these arguments to the exit. Throws if it fails. */
export async function timeRun(bench, args) {
  const folder = bench.makeFolder();
  const startedAt = performance.now();
  const started = startProcess(folder, process.execPath, args);
  const code = await started.exited;
  const ms = performance.now() - startedAt;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}:\n${started.log()}`);
  return ms;
}

/**
 * Returns the milliseconds from a gateway's start, in an earlier run's folder, to the first 200 at
 * /health. The request is sent when stdout reports the port.
 */
export async function timeStart(bench, folder) {
  return timeListener(folder, [join(bench.dist, 'main.js'), '--config', join(folder, 'gateway.yaml')]);
}

/** Same as timeStart, for any program that writes `"port":N` to stdout when it listens on 127.0.0.1. */
export async function timeListener(folder, args) {
  const startedAt = performance.now();
  const started = startProcess(folder, process.execPath, args, { hasPipes: true });
  let output = '';
  try {
    return await new Promise((done, reject) => {
      const fail = (why) => reject(new Error(`${why}:\n${output}${started.log()}`));
      setTimeout(fail, deadlineMs, '/health timed out').unref();
      started.exited.then((code) => fail(`the program ended with ${code}`));
      let isRequested = false;
      started.child.stdout.setEncoding('utf8').on('data', (chunk) => {
        output += chunk;
        const port = /"port":(\d+)/.exec(output)?.[1];
        if (port === undefined || isRequested) return;
        isRequested = true;
        const socket = connect(Number(port), '127.0.0.1');
        socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
        socket.once('error', (error) => fail(error.message));
        socket.once('data', (answer) => {
          const ms = performance.now() - startedAt;
          socket.destroy();
          if (String(answer).startsWith('HTTP/1.1 200 ')) done(ms);
          else fail(`/health responded: ${answer}`);
        });
      });
    });
  } finally {
    await started.stop();
  }
}
