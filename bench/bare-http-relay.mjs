// Baseline for remote servers: a minimal relay from HTTP to HTTP, with uWebSockets.js and `dispatch` of
// undici, the cheapest HTTP client for Node. Bodies are passed on unchanged, without checks, sessions,
// deadlines or error handling. The cost of the gateway is the difference to this relay.
//
// node bench/bare-http-relay.mjs PORT URL

import { App } from 'uWebSockets.js';
import { Pool } from 'undici';

const [port, url] = process.argv.slice(2);
const { origin, pathname } = new URL(url);
const pool = new Pool(origin);
const headers = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream'];

App()
  .post('/*', (res) => {
    const client = { res, isGone: false };
    const chunks = [];
    res.onAborted(() => {
      client.isGone = true;
    });
    res.onData((chunk, isLast) => {
      // The server reuses a chunk's memory after the callback.
      chunks.push(Buffer.from(chunk.slice(0)));
      if (isLast) send(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), client);
    });
  })
  .listen('127.0.0.1', Number(port), (socket) => console.log(socket ? 'listening' : 'port taken'));

function send(body, client) {
  const chunks = [];
  const handler = {
    onConnect() {},
    // `true` means: continue reading.
    onHeaders: () => true,
    onData(chunk) {
      chunks.push(chunk);
      return true;
    },
    onComplete() {
      if (client.isGone) return;
      client.res.cork(() => {
        client.res.writeHeader('Content-Type', 'application/json');
        client.res.end(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      });
    },
    onError(error) {
      throw error;
    },
  };
  pool.dispatch({ path: pathname, method: 'POST', headers, body }, handler);
}

process.on('SIGTERM', () => process.exit());
