// Starts the measured gateway as a process, with a configuration of the measure in a temporary folder.

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startProcess, until } from './processes.mjs';

const probe = pathToFileURL(join(import.meta.dirname, 'process-probe.mjs')).href;

/**
 * Starts dist/main.js on 127.0.0.1, on a free port unless `config.listen_addr` is set, and waits for /health.
 * `servers` are catalog entries by id, `config` contains further fields of gateway.yaml. `hasProbe` enables
 * `memory()`, which forces a garbage collection first. `folder` is for a restart in an existing folder.
 */
export async function startGateway(
  bench,
  { servers = {}, config = {}, nodeArgs = [], hasProbe = false, env = {}, folder = bench.makeFolder() } = {},
) {
  const settings = {
    listen_addr: '127.0.0.1:0',
    catalog_path: './catalog.yaml',
    shutdown_seconds: 2,
    ...config,
  };
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(settings));
  writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers }));
  writeFileSync(join(folder, 'output.log'), '');
  const probeArgs = hasProbe ? ['--expose-gc', '--import', probe] : [];
  const main = join(bench.dist, 'main.js');
  const started = startProcess(
    folder,
    process.execPath,
    [...probeArgs, ...bench.nodeArgs, ...nodeArgs, main, '--config', join(folder, 'gateway.yaml')],
    { hasChannel: hasProbe, env },
  );
  const { child, pid, log, stop, exited, cpuSeconds, rssBytes } = started;
  const port = await until(started, 'the gateway did not start', () => portIn(log()));
  const url = `http://127.0.0.1:${port}`;
  await until(started, 'the gateway is not healthy', async () => (await fetch(`${url}/health`)).ok);
  return {
    url,
    port,
    pid,
    folder,
    exited,
    log,
    stop,
    cpuSeconds,
    rssBytes,
    async memory() {
      const response = once(child, 'message', { signal: AbortSignal.timeout(30_000) });
      child.send('memory');
      const [{ memory }] = await response;
      return memory;
    },
  };
}

function portIn(log) {
  const line = log.split('\n').find((each) => each.includes('"gateway is ready"'));
  return line === undefined ? undefined : JSON.parse(line).address.port;
}
