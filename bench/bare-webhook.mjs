// The ceiling of the measure of signed events: the same HTTP server, which verifies an event, parses it and answers, and
// nothing else. Nothing is kept, matched or handled; what the gateway costs is what it costs above this.
//
// node bench/bare-webhook.mjs SECRET      writes its port to stdout

import { App, us_socket_local_port } from 'uWebSockets.js';
import { createHmac, timingSafeEqual } from 'node:crypto';

const [secret] = process.argv.slice(2);
let handled = 0;

App()
  .get('/handled', (res) => {
    res.end(String(handled));
  })
  .post('/*', (res, req) => {
    const given = Buffer.from(req.getHeader('x-hub-signature-256').slice('sha256='.length), 'hex');
    let body;
    res.onAborted(() => {});
    res.onData((chunk, isLast) => {
      const part = Buffer.from(chunk);
      body = body === undefined ? (isLast ? part : Buffer.from(part)) : Buffer.concat([body, part]);
      if (!isLast) return;
      const wanted = createHmac('sha256', secret).update(body).digest();
      const isGenuine =
        given.length === wanted.length &&
        timingSafeEqual(given, wanted) &&
        JSON.parse(body.toString('utf8')).action === 'opened';
      if (isGenuine) handled += 1;
      res.cork(() => {
        res.writeStatus(isGenuine ? '202 Accepted' : '401 Unauthorized');
        res.end();
      });
    });
  })
  .listen('127.0.0.1', 0, (socket) => console.log(`listening at ${us_socket_local_port(socket)}`));
