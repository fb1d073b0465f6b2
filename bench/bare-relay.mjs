// The physical yardstick: the least that can stand between an HTTP client and a stdio server and still give each
// client its own answer back. One page, no checks, no sessions, no deadlines, no errors; ids are replaced by numbers of
// its own and put back. What a gateway costs is what it costs above this.
//
// node bench/bare-relay.mjs PORT COMMAND [ARG…]

import { App } from 'uWebSockets.js';
import { spawn } from 'node:child_process';

const [port, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let lastId = 0;
let outgoing = '';
let partial = '';

child.stdout.setEncoding('latin1').on('data', (chunk) => {
  partial += chunk;
  // What has no line end yet is only put together, not copied: a large answer comes in a hundred pieces.
  if (!chunk.includes('\n')) return;
  const lines = partial.split('\n');
  partial = lines.pop();
  for (const line of lines) {
    const [before, id] = idIn(line);
    const client = waiting.get(Number(id));
    waiting.delete(Number(id));
    if (client === undefined || client.isGone) continue;
    const answer = `${line.slice(0, before)}${client.id}${line.slice(before + id.length)}`;
    client.res.cork(() => {
      client.res.writeHeader('Content-Type', 'application/json').end(Buffer.from(answer, 'latin1'));
    });
  }
});

/** Where the first "id" stands, and its raw text. */
function idIn(text) {
  const start = text.indexOf('"id":') + 5;
  let end = start;
  while (text[end] !== ',' && text[end] !== '}') end += 1;
  return [start, text.slice(start, end)];
}

function send(body, client) {
  const [before, id] = idIn(body);
  lastId += 1;
  client.id = id;
  waiting.set(lastId, client);
  if (outgoing === '') setImmediate(flush);
  outgoing += `${body.slice(0, before)}${lastId}${body.slice(before + id.length)}\n`;
}

function flush() {
  child.stdin.write(outgoing, 'latin1');
  outgoing = '';
}

App()
  .post('/*', (res) => {
    const client = { id: '', res, isGone: false };
    let body = '';
    res.onAborted(() => {
      client.isGone = true;
    });
    res.onData((chunk, isLast) => {
      body += Buffer.from(chunk).toString('latin1');
      if (isLast) send(body, client);
    });
  })
  .listen('127.0.0.1', Number(port), (socket) => console.log(socket ? 'listening' : 'port taken'));
process.on('SIGTERM', () => {
  child.kill();
  process.exit();
});
