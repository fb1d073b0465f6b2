// How long processes take to start, by the clock of whoever starts them.

import { connect } from 'node:net';
import { join } from 'node:path';
import { startProcess } from './processes.mjs';

const deadlineMs = 20_000;

/** Milliseconds from the start of `node` with these arguments to its end, which must be one without an error. */
export async function timedRun(bench, args) {
  const folder = bench.makeFolder();
  const startedAt = performance.now();
  const started = startProcess(folder, process.execPath, args);
  const code = await started.exited;
  const ms = performance.now() - startedAt;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}:\n${started.log()}`);
  return ms;
}

/**
 * Milliseconds from the start of a gateway in a folder where one has run before, to the first 200 at /health. It is
 * asked as soon as it has written to stdout that it listens, and ended at once.
 */
export async function timedStart(bench, folder) {
  return timedListener(folder, [join(bench.dist, 'main.js'), '--config', join(folder, 'gateway.yaml')]);
}

/** The same of any program that writes `"port":N` to stdout when it listens on 127.0.0.1. */
export async function timedListener(folder, args) {
  const startedAt = performance.now();
  const started = startProcess(folder, process.execPath, args, { hasPipes: true });
  let output = '';
  try {
    return await new Promise((done, reject) => {
      const fail = (why) => reject(new Error(`${why}:\n${output}${started.log()}`));
      setTimeout(fail, deadlineMs, 'no health in time').unref();
      started.exited.then((code) => fail(`the program ended with ${code}`));
      let isAsked = false;
      started.child.stdout.setEncoding('utf8').on('data', (chunk) => {
        output += chunk;
        const port = /"port":(\d+)/.exec(output)?.[1];
        if (port === undefined || isAsked) return;
        isAsked = true;
        const socket = connect(Number(port), '127.0.0.1');
        socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
        socket.once('error', (error) => fail(error.message));
        socket.once('data', (answer) => {
          const ms = performance.now() - startedAt;
          socket.destroy();
          if (String(answer).startsWith('HTTP/1.1 200 ')) done(ms);
          else fail(`/health was answered: ${answer}`);
        });
      });
    });
  } finally {
    await started.stop();
  }
}
