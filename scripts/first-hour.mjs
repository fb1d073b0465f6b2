// The first hour of somebody who has never seen the project, typed by a program: from a clone to a first call of a tool, a
// server of one's own, a connected client, and a webhook that was handled. Each line is run by a shell as it stands; what was
// typed, what was seen and how long it took becomes docs/first-hour.md.
//
//   node scripts/first-hour.mjs                    clones the project into a new folder, and prints what it saw
//   node scripts/first-hour.mjs --write            … and writes docs/first-hour.md
//   node scripts/first-hour.mjs --in DIR           begins in a folder that has the project, instead of cloning it
//   node scripts/first-hour.mjs --port 8123        listens there instead of on 8080
//
// FH1  a step that does not show what it should ends the script with what it showed; nothing it has started is left.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, stripVTControlCharacters } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    in: { type: 'string' },
    port: { type: 'string', default: '8080' },
    write: { type: 'boolean', default: false },
  },
});
const LONGEST_MS = 300_000;
const MOST_LINES = 12;

/** `serves`: it goes on in a terminal of its own until the step that stops it. */
const steps = [
  {
    title: 'Get it and start it',
    isClone: true,
    type: ['git clone ADDRESS actor-gateway', 'cd actor-gateway'],
  },
  {
    says: 'The first start installs and builds, and then serves the example.',
    type: ['npm start'],
    serves: 'gateway',
    sees: /actor-gateway \S+ at http:.*3 servers/,
  },
  {
    title: 'A first call of a tool',
    says: 'In another terminal, in the same folder. The call starts the server that it needs.',
    type: ['node dist/main.js tools --server files'],
    sees: /read_text_file/,
  },
  {
    type: ['node dist/main.js tools call files read_text_file path=hello.txt'],
    sees: /This file is served by the example filesystem server\./,
  },
  {
    title: 'A server of your own',
    says: 'Any program that speaks MCP on its stdin and stdout, or an address. The catalog is edited, its comments stay, and the running gateway takes it up.',
    type: [
      'mkdir -p ~/notes',
      'node dist/main.js servers add notes -- node dist/tool-servers/filesystem.js ~/notes',
    ],
    sees: /14 tools/,
  },
  {
    type: [
      'node dist/main.js tools call notes write_file path=today.md content="buy bread"',
      'node dist/main.js tools call notes read_text_file path=today.md',
    ],
    sees: /buy bread/,
  },
  {
    title: 'A connected client',
    says: 'The entry goes into the file of the client; `--undo` takes it out again. Here it is that of an editor.',
    type: ['mkdir -p ~/.cursor', 'node dist/main.js connect cursor --write'],
    sees: /mcp\.json/,
  },
  {
    says: 'What the client reads now:',
    type: ['cat ~/.cursor/mcp.json'],
    sees: /actor-gateway/,
  },
  {
    title: 'A webhook that was handled',
    says: 'Ctrl-C stops the first example. The second has triggers and agents, and listens at the same address.',
    stops: 'gateway',
    type: [
      'openssl rand -hex 32 > ~/webhook-secret',
      'WEBHOOK_SECRET=$(cat ~/webhook-secret) node dist/main.js --config examples/automation.yaml',
    ],
    serves: 'automation',
    sees: /gateway is ready/,
  },
  {
    says: 'In the other terminal, an event with its signature:',
    type: [
      `BODY='{"service":"shop","text":"the cart is slow"}'`,
      `SIGNATURE=$(printf '%s' "$BODY" | openssl dgst -sha256 -hmac "$(cat ~/webhook-secret)" -hex | sed 's/.* /sha256=/')`,
      `curl -s http://127.0.0.1:8080/webhook/alerts -H 'Content-Type: application/json' -H 'Idempotency-Key: slow-1' -H "X-Hub-Signature-256: $SIGNATURE" -d "$BODY"`,
    ],
    sees: /"accepted"/,
  },
  {
    type: ['sleep 1; node dist/main.js deliveries show http:alerts/slow-1'],
    sees: /state +done[\s\S]*noted for http\/alerts\/shop/,
  },
];

const home = mkdtempSync(join(tmpdir(), 'first-hour-'));
const servers = new Map();
let folder = values.in === undefined ? home : resolve(values.in);

try {
  const told = [];
  const all = performance.now();
  for (const step of steps) {
    if (step.isClone === true && values.in !== undefined) continue;
    if (step.stops !== undefined) await stop(step.stops);
    const typed = step.type.map((line) => line.replaceAll('8080', values.port));
    const begun = performance.now();
    const said = await run(typed, step);
    const seconds = (performance.now() - begun) / 1000;
    if (step.isClone === true) folder = join(home, 'actor-gateway');
    if (step.sees !== undefined && !step.sees.test(said))
      throw new Error(`after ${step.type.at(-1)} there was no ${step.sees} in\n${said}`);
    told.push({ step, said: shown(said), seconds });
    console.error(`${seconds.toFixed(1).padStart(6)} s  ${step.type.join(' && ')}`);
  }
  const page = pageOf(told, (performance.now() - all) / 1000);
  if (values.write) writeFileSync(join(root, 'docs', 'first-hour.md'), page);
  else process.stdout.write(page);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  for (const name of [...servers.keys()]) await stop(name);
  rmSync(home, { recursive: true, force: true });
}

/** What the lines wrote, once they are done, or once it shows what was waited for where they serve. */
function run(typed, { serves, sees }) {
  const address = typed.map((line) => line.replace('ADDRESS', root));
  const line = `${address.join('\n')}\n`;
  const shell = spawn('bash', ['-ec', line], {
    cwd: folder,
    env: { ...process.env, HOME: home, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C reaches all of a terminal.
    detached: true,
  });
  let said = '';
  const closed = new Promise((done) => shell.once('close', done));
  if (serves !== undefined) servers.set(serves, { shell, closed });
  return new Promise((done, reject) => {
    const timer = setTimeout(() => {
      process.kill(-shell.pid, 'SIGKILL');
      reject(new Error(`${typed.at(-1)} took more than ${LONGEST_MS / 1000} s; it said\n${said}`));
    }, LONGEST_MS);
    const settle = (settled) => {
      clearTimeout(timer);
      settled();
    };
    for (const stream of [shell.stdout, shell.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
        if (serves !== undefined && sees.test(stripVTControlCharacters(said))) settle(() => done(said));
      });
    void closed.then((code) => {
      const failed = new Error(`${typed.at(-1)} ended with ${code}; it said\n${said}`);
      settle(() => (code === 0 && serves === undefined ? done(said) : reject(failed)));
    });
  });
}

async function stop(name) {
  const { shell, closed } = servers.get(name);
  servers.delete(name);
  try {
    process.kill(-shell.pid, 'SIGINT');
  } catch {
    // It has ended by itself.
  }
  await closed;
}

/** With the folders of somebody, and not with those of this run. */
function shown(said) {
  const text = stripVTControlCharacters(said)
    .replaceAll(folder, '/home/ada/actor-gateway')
    .replaceAll(home, '/home/ada')
    .replaceAll(`:${values.port}`, ':8080');
  // What npm and the log say besides is left out.
  const lines = text.split('\n').filter((line) => line !== '' && !/^(> |\{"level")/.test(line));
  return lines.length <= MOST_LINES ? lines : [...lines.slice(0, MOST_LINES), '…'];
}

function pageOf(told, seconds) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const rows = told.map(({ step, seconds: took }) => {
    const typed = step.type.map((line) => `\`${line.replaceAll('|', '\\|')}\``).join('<br>');
    return `| ${took.toFixed(1)} | ${typed} |`;
  });
  const parts = told.flatMap(({ step, said, seconds: took }) => [
    ...(step.title === undefined ? [] : [`## ${step.title}`, '']),
    ...(step.says === undefined ? [] : [step.says, '']),
    '```sh',
    ...step.type,
    '```',
    ...(said.join('') === '' ? [''] : ['```', ...said, '```', '']),
    ...(took < 5 ? [] : [`It took ${took.toFixed(0)} s.`, '']),
  ]);
  return [
    '# The first hour',
    '',
    `From a clone to a first call, a server of one's own, a connected client and a handled webhook, as \`node scripts/first-hour.mjs --write\``,
    `typed and saw it with version ${version}. All of it took ${seconds.toFixed(0)} s on a machine with two processors, most of them for the installation; people`,
    'need longer, since they read. `npm run test:long` types the same.',
    '',
    ...parts,
    '## What was typed, and how long it took',
    '',
    '| seconds | typed |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}
