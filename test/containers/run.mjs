// `npm run containers`: servers in containers end together with the gateway's server, with each installed
// engine (docker, podman). Needs a running engine and a static busybox, from which it makes its image. The
// engines' own variables (DOCKER_HOST, CONTAINERS_CONF, …) are used.

import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const main = resolve(import.meta.dirname, '../../dist/main.js');
const IMAGE = 'actor-gateway-test:1';
const LABEL = 'actor-gateway.server=box';
const execute = promisify(execFile);
const folders = [];

async function run(program, ...args) {
  return (await execute(program, args, { timeout: 60_000, killSignal: 'SIGKILL' })).stdout.trim();
}

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'containers-'));
  folders.push(folder);
  return folder;
}

/** Returns the reason why an engine cannot be used; undefined if it can. */
async function missingFor(engine) {
  try {
    await run(engine, 'info');
    return undefined;
  } catch (error) {
    return error.code === 'ENOENT'
      ? `${engine} is not installed`
      : `${engine} does not run: ${String(error.stderr || error.message)
          .trim()
          .split('\n')
          .at(-1)}`;
  }
}

async function makeImage(engine, busybox) {
  const folder = newFolder();
  mkdirSync(join(folder, 'bin'));
  copyFileSync(busybox, join(folder, 'bin/sh'));
  copyFileSync(busybox, join(folder, 'bin/sleep'));
  copyFileSync(join(import.meta.dirname, 'stubborn.sh'), join(folder, 'bin/stubborn'));
  chmodSync(join(folder, 'bin/stubborn'), 0o755);
  const archive = join(newFolder(), 'image.tar');
  await run('tar', '-C', folder, '-cf', archive, '.');
  await run(engine, 'import', archive, IMAGE);
}

const containers = async (engine, ...options) =>
  (await run(engine, 'ps', '-q', ...options, '--filter', `label=${LABEL}`))
    .split('\n')
    .filter((id) => id !== '');

/** Starts a gateway with the server `box`, and returns requests to it. */
async function startGateway(engine, options, more = {}, folder = newFolder()) {
  const { args = ['stubborn'], ...fields } = more;
  const box = {
    command: engine,
    args: ['run', '--network', 'none', ...options, IMAGE, ...args],
    inherit_env: true,
    restart: { min_backoff_ms: 50 },
    ...fields,
  };
  writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers: { box } }));
  writeFileSync(
    join(folder, 'gateway.yaml'),
    JSON.stringify({ listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', state_dir: './state' }),
  );
  const child = spawn(process.execPath, [main, '--config', join(folder, 'gateway.yaml')], { cwd: folder });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
  const exited = new Promise((done) => child.once('exit', done));
  const url = await until('the gateway', () => {
    const [, port] = /"port":(\d+)\}.*gateway is ready/.exec(log) ?? [];
    return port === undefined ? undefined : `http://127.0.0.1:${port}`;
  });
  const request = async (path, body) => {
    const authorization = `Bearer ${readFileSync(join(folder, 'state/operator-token'), 'utf8').trim()}`;
    const headers = { authorization, 'content-type': 'application/json', 'x-mcp-server': 'box' };
    const response = await fetch(
      `${url}${path}`,
      body === undefined ? {} : { method: 'POST', headers, body },
    );
    return response.json();
  };
  return {
    folder,
    log: () => log,
    call: () => request('/rpc', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}'),
    post: (what) => request(`/servers/box/${what}`, ''),
    record: () => request('/servers/box'),
    end: async (signal = 'SIGTERM') => {
      child.kill(signal);
      await exited;
    },
  };
}

async function until(what, read, ms = 60_000) {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(100)) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
  }
  throw new Error(`no ${what} within ${ms} ms`);
}

function expect(isTrue, what) {
  if (!isTrue) throw new Error(what);
}

const none = (engine) => async () => (await containers(engine)).length === 0;

const cases = {
  'stop, with --rm': async (engine) => {
    const gateway = await startGateway(engine, ['-i', '--rm']);
    expect((await gateway.call()).result !== undefined, 'the call failed');
    expect((await containers(engine)).length === 1, 'no container runs');
    await gateway.post('stop');
    expect((await containers(engine, '-a')).length === 0, 'the container is left after a stop');
    await gateway.end();
  },
  'stop, without --rm': async (engine) => {
    const gateway = await startGateway(engine, ['-i']);
    await gateway.call();
    await gateway.post('stop');
    expect(await none(engine)(), 'the container runs after a stop');
    expect((await containers(engine, '-a')).length === 1, 'a container without --rm was removed');
    await gateway.end();
  },
  'restart, with --name': async (engine) => {
    const gateway = await startGateway(engine, ['-i', '--rm', '--name', 'box-of-a-test']);
    for (let n = 0; n < 2; n += 1) {
      expect((await gateway.call()).result !== undefined, 'the call failed');
      await gateway.post('stop');
    }
    expect(await none(engine)(), 'the container is left');
    await gateway.end();
  },
  'a container of another owner with the same --name': async (engine) => {
    const other = await run(
      engine,
      'run',
      '-d',
      '--rm',
      '--network',
      'none',
      '--name',
      'box-of-others',
      IMAGE,
      'stubborn',
    );
    const gateway = await startGateway(engine, ['-i', '--rm', '--name', 'box-of-others']);
    await gateway.post('start');
    await gateway.end();
    const running = await run(engine, 'ps', '-q', '--no-trunc');
    await run(engine, 'rm', '-f', other);
    expect(running.includes(other), 'the container of another owner was ended');
  },
  'idle timeout': async (engine) => {
    const gateway = await startGateway(engine, ['-i', '--rm'], { idle_timeout_seconds: 1 });
    await gateway.call();
    await until('the end of the container', none(engine));
    await gateway.end();
  },
  'end of the gateway': async (engine) => {
    const gateway = await startGateway(engine, ['-i', '--rm']);
    await gateway.call();
    await gateway.end();
    expect(await none(engine)(), 'the container is left');
  },
  'kill -9 of the gateway, and its next start': async (engine) => {
    const gateway = await startGateway(engine, ['-i', '--rm']);
    await gateway.call();
    await gateway.end('SIGKILL');
    expect((await containers(engine)).length === 1, 'the container has ended by itself');
    const next = await startGateway(engine, ['-i', '--rm'], {}, gateway.folder);
    expect((await containers(engine, '-a')).length === 0, 'the container is left after the next start');
    await next.end();
  },
  'start timeout': async (engine) => {
    const gateway = await startGateway(engine, ['-i', '--rm'], {
      start_timeout_seconds: 3,
      args: ['stubborn', 'mute'],
    });
    await gateway.post('start');
    await until('the end of the container', none(engine));
    await gateway.end();
  },
  'crash of the client process': async (engine) => {
    const gateway = await startGateway(engine, ['-i', '--rm']);
    await gateway.call();
    const [pid] = (await gateway.record()).pids;
    process.kill(pid, 'SIGKILL');
    await until('the end of the container', none(engine));
    expect((await gateway.call()).result !== undefined, 'the server does not start again');
    await gateway.end();
    expect(await none(engine)(), 'the second container is left');
  },
  'detached, with -d': async (engine) => {
    const gateway = await startGateway(engine, ['-d', '--rm'], { restart: { intensity: 0 } });
    const { message } = await gateway.post('start');
    expect(/remove -d from `args`/.test(message), `no remedy: ${message}`);
    await until('the end of the container', none(engine));
    await gateway.end();
  },
  'without -i': async (engine) => {
    const gateway = await startGateway(engine, ['--rm'], {
      start_timeout_seconds: 3,
      restart: { intensity: 0 },
    });
    const { message } = await gateway.post('start');
    expect(/add -i to `args`/.test(message), `no remedy: ${message}`);
    expect(/add -i to `args`/.test(gateway.log()), 'no warning at the start');
    await until('the end of the container', none(engine));
    await gateway.end();
  },
};

const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path));
if (busybox === undefined) {
  console.error('containers: missing: a static busybox (apt-get install busybox-static)');
  process.exit(2);
}
let failures = 0;
let engines = 0;
for (const engine of ['docker', 'podman']) {
  const missing = await missingFor(engine);
  if (missing !== undefined) {
    console.log(`skip ${engine}: ${missing}`);
    continue;
  }
  engines += 1;
  await makeImage(engine, busybox);
  for (const [name, check] of Object.entries(cases)) {
    if (process.argv[2] !== undefined && !name.includes(process.argv[2])) continue;
    const began = performance.now();
    const outcome = await check(engine).then(
      () => 'ok  ',
      (error) => {
        failures += 1;
        return `FAIL ${error.message}:`;
      },
    );
    console.log(`${outcome} ${engine}: ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    for (const id of await containers(engine, '-a')) await run(engine, 'rm', '-f', id);
  }
}
for (const folder of folders) rmSync(folder, { recursive: true, force: true });
if (engines === 0) console.error('containers: missing: an engine (docker or podman)');
process.exit(failures > 0 ? 1 : engines === 0 ? 2 : 0);
