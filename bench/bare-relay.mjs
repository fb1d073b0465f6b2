// Baseline: a minimal relay between HTTP clients and a stdio server. It replaces request ids by numbers, to
// send responses to the right client. No checks, sessions, deadlines or error handling. The cost of the
// gateway is the difference to this relay.
//
// node bench/bare-relay.mjs PORT COMMAND [ARG…]

import { App } from 'uWebSockets.js';
import { spawn } from 'node:child_process';

const [port, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let lastId = 0;
/** Messages for the server, sent when the event loop's turn ends. */
let outgoing = '';
/** First part of an incomplete message. */
let partial = '';

// Latin-1 preserves all bytes and is the fastest encoding.
child.stdout.setEncoding('latin1').on('data', (chunk) => {
  partial += chunk;
  // A large response arrives in about a hundred chunks. It is split only when a line is complete.
  if (!chunk.includes('\n')) return;
  const lines = partial.split('\n');
  partial = lines.pop();
  for (const line of lines) {
    const [position, id] = idIn(line);
    const client = waiting.get(Number(id));
    waiting.delete(Number(id));
    if (client === undefined || client.isGone) continue;
    const answer = `${line.slice(0, position)}${client.id}${line.slice(position + id.length)}`;
    client.res.cork(() => {
      client.res.writeHeader('Content-Type', 'application/json').end(Buffer.from(answer, 'latin1'));
    });
  }
});

/** Returns the position and the raw text of the first "id". */
function idIn(text) {
  const start = text.indexOf('"id":') + '"id":'.length;
  let end = start;
  while (text[end] !== ',' && text[end] !== '}') end += 1;
  return [start, text.slice(start, end)];
}

function send(body, client) {
  const [position, id] = idIn(body);
  lastId += 1;
  client.id = id;
  waiting.set(lastId, client);
  if (outgoing === '') setImmediate(flush);
  outgoing += `${body.slice(0, position)}${lastId}${body.slice(position + id.length)}\n`;
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
