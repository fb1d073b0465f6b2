// Starts the two programs that the measures of agents compare: the gateway, and a bare loop (bare-agent.mjs).
// Both use the same model server.

import { strictEqual } from 'node:assert';
import { join } from 'node:path';
import { startHandling } from './handling-gateway.mjs';
import { startProcess, until } from './processes.mjs';
import { signatureOf } from './signed-events.mjs';

const echoProgram = join(import.meta.dirname, 'upstreams/raw-echo.mjs');

/**
 * Starts the model server. `stepsOf(run)` resolves after the run with the milliseconds between model
 * requests.
 */
export async function startModel(bench) {
  const { url, stop } = await startProgram(bench, 'model-server.mjs');
  return {
    url,
    stop,
    async stepsOf(run) {
      return (await fetch(`${url}/steps?run=${run}`)).json();
    },
  };
}

/**
 * Starts the bare loop. `ask(run, steps)` starts a run. `whenEnded()` resolves when all runs have finished.
 */
export async function startBareAgent(bench, model) {
  const { url, stop, cpuSeconds } = await startProgram(bench, 'bare-agent.mjs', [
    `${model.url}/v1`,
    echoProgram,
  ]);
  const running = [];
  return {
    stop,
    cpuSeconds,
    async ask(run, steps) {
      running.push(fetch(`${url}/${run}/${steps}`, { method: 'POST' }).then((answer) => answer.text()));
    },
    async whenEnded() {
      // The last answer of model-server.mjs.
      for (const text of await Promise.all(running.splice(0))) strictEqual(text, 'That is all.');
    },
  };
}

/**
 * Starts a gateway with `ask` as above. `whenEnded(count)` resolves when `count` further runs have finished.
 * `policy` is the policy of the agent; `options` are passed to startGateway.
 */
export async function startAgentGateway(bench, model, policy = {}, options = {}) {
  const gateway = await startHandling(
    bench,
    {
      type: 'HTTP',
      config: { path: '/events', webhook_secret: `\${WEBHOOK_SECRET}`, key: 'header:x-conversation' },
      default_agent: 'worker',
    },
    {
      ...options,
      agents: {
        worker: {
          model: 'bench:quick',
          max_iterations: 1000,
          timeout_seconds: 600,
          mcp_servers: [{ name: 'echo', command: process.execPath, args: [echoProgram] }],
          policy,
        },
      },
      config: { providers: { bench: { base_url: `${model.url}/v1` } } },
    },
  );
  return {
    ...gateway,
    async ask(run, steps) {
      const body = JSON.stringify({ text: `run-${run}-steps-${steps}` });
      const headers = {
        'content-type': 'application/json',
        'x-hub-signature-256': signatureOf(body),
        'x-conversation': run,
      };
      const answer = await fetch(`${gateway.url}/events`, { method: 'POST', body, headers });
      if (!answer.ok) throw new Error(`status ${answer.status}: ${await answer.text()}`);
      await answer.text();
    },
    whenEnded: gateway.whenHandled,
  };
}

/** Starts a program of this folder, and waits until it prints its port. */
async function startProgram(bench, file, args = []) {
  const started = startProcess(
    bench.makeFolder(),
    process.execPath,
    [join(import.meta.dirname, file), ...args],
    { env: { NODE_ENV: 'production' } },
  );
  const port = await until(
    started,
    `${file} did not start`,
    () => /listening at (\d+)/.exec(started.log())?.[1],
  );
  const { stop, cpuSeconds } = started;
  return { url: `http://127.0.0.1:${port}`, stop, cpuSeconds };
}
