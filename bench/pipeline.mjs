// Load generator for a directly started stdio server: a minimal client that sends concurrent calls. Its
// figures are the comparison for calls through the gateway.

import { answerFault } from './check.mjs';
import { startProcess } from './processes.mjs';

/**
 * Starts and initializes the server. `call` sends a line and passes the response to `done`; `request` returns
 * the response as a promise.
 */
export async function startPipeline(bench, command, args) {
  const started = startProcess(bench.makeFolder(), command, args, { hasPipes: true });
  const { stdin, stdout } = started.child;
  // `exited` reports the server's exit.
  stdin.on('error', () => {});
  const waiting = new Map();
  let partial = '';
  stdout.setEncoding('utf8').on('data', (chunk) => {
    const lines = (partial + chunk).split('\n');
    partial = lines.pop();
    for (const line of lines) {
      const answer = JSON.parse(line);
      const done = waiting.get(answer.id);
      waiting.delete(answer.id);
      done?.(answer);
    }
  });
  // Requests of one turn of the event loop are written together, as a client under load does.
  let outgoing = '';
  const call = (id, line, done) => {
    waiting.set(id, done);
    if (outgoing === '')
      setImmediate(() => {
        stdin.write(outgoing);
        outgoing = '';
      });
    outgoing += `${line}\n`;
  };
  const request = (id, line) =>
    new Promise((done, reject) => {
      call(id, line, done);
      started.exited.then(() => reject(new Error(`the server ended:\n${started.log()}`)));
    });
  const clientInfo = { name: 'bench', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  await request('first', JSON.stringify({ jsonrpc: '2.0', id: 'first', method: 'initialize', params }));
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  return { ...started, call, request };
}

/** Same as `load` in load.mjs, over stdio. `calls` are pairs of an id and a line, sent in rotation. */
export async function loadPipeline(pipeline, { connections, seconds, calls }) {
  const times = [];
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  let next = 0;
  const worker = () =>
    new Promise((done, reject) => {
      pipeline.exited.then(() => reject(new Error(`the server ended:\n${pipeline.log()}`)));
      const send = () => {
        const [id, line] = calls[next % calls.length];
        next += 1;
        const sentAt = performance.now();
        pipeline.call(id, line, ({ error }) => {
          const now = performance.now();
          times.push(now - sentAt);
          if (error !== undefined) reject(new Error(error.message));
          else if (now < endAt) send();
          else done();
        });
      };
      send();
    });
  await Promise.all(Array.from({ length: connections }, worker));
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  const sortedTimes = Float64Array.from(times).sort();
  const percentile = (fraction) => sortedTimes[Math.floor((sortedTimes.length - 1) * fraction)];
  return {
    callsPerSecond: times.length / elapsedSeconds,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    errors: 0,
  };
}

/** Same as `check` in check.mjs, over stdio. */
export async function checkPipeline(row, pipeline, calls) {
  const answers = await Promise.all(calls.map(([id, line]) => pipeline.request(id, line)));
  for (const [n, answer] of answers.entries()) {
    const fault = answerFault(n, answer);
    if (fault !== undefined) throw new Error(`${row}: ${fault}; response ${JSON.stringify(answer)}`);
  }
  return answers.length;
}
