// Starts a temporary PostgreSQL with default settings, in a folder on disk. If the benchmark runs as root,
// PostgreSQL runs as the user `nobody`, because it refuses to run as root.

import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { startProcess, until } from './processes.mjs';

/** Folder of the packages of Debian and Ubuntu, with a folder per version. */
const DEBIAN = '/usr/lib/postgresql';
/** Folder for the data of smoke runs. Their temporary folders on disk may be inaccessible to `nobody`. */
const SHARED_MEMORY = '/dev/shm';

export async function startPostgres(bench) {
  const bin = findBinaries();
  const isShared = bench.isSmoke && existsSync(SHARED_MEMORY);
  const folder = isShared ? mkdtempSync(join(SHARED_MEMORY, 'bench-postgres-')) : bench.makeFolder();
  const user = unprivilegedUser();
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const init = ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(bin, 'initdb'), init, { cwd: folder, stdio: 'pipe', ...user });
  const port = await freePort();
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const started = startProcess(folder, join(bin, 'postgres'), args, { user });
  const urlOf = (name) => `postgres://bench@127.0.0.1:${port}/${name}`;
  await until(started, 'PostgreSQL did not start', () =>
    query(urlOf('postgres'), 'SELECT 1').then(Boolean, () => false),
  );
  let count = 0;
  return {
    async stop() {
      await started.stop();
      if (isShared) rmSync(folder, { recursive: true, force: true });
    },
    async newDatabase() {
      count += 1;
      await query(urlOf('postgres'), `CREATE DATABASE bench_${count}`);
      return urlOf(`bench_${count}`);
    },
  };
}

async function query(connectionString, text) {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the folder of `initdb` and `postgres`. Prefers the newest version of Debian's packages. */
function findBinaries() {
  const debian = existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin')) : [];
  const folders = [...debian.reverse(), ...(process.env.PATH ?? '').split(':')];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')));
  if (found === undefined)
    throw new Error('the benchmark needs PostgreSQL: apt-get install postgresql (Debian, Ubuntu)');
  return found;
}

/** Returns the ids of `nobody` if this process runs as root. */
function unprivilegedUser() {
  if (process.getuid() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
