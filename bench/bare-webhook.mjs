// Upper limit for the measure `events`: the HTTP server of the gateway verifies and parses an event and
// responds, but does not store or handle it. The cost of the gateway is the difference.
//
// node bench/bare-webhook.mjs SECRET      prints the port

import { App, us_socket_local_port } from 'uWebSockets.js';
import { createHmac, timingSafeEqual } from 'node:crypto';

const [secret] = process.argv.slice(2);
let handled = 0;

App()
  .get('/handled', (res) => {
    res.end(String(handled));
  })
  .post('/*', (res, req) => {
    const signature = Buffer.from(req.getHeader('x-hub-signature-256').slice('sha256='.length), 'hex');
    let body;
    res.onAborted(() => {});
    res.onData((chunk, isLast) => {
      const part = Buffer.from(chunk);
      if (body !== undefined) body = Buffer.concat([body, part]);
      // The server reuses a part's memory after the callback. Only the last part needs no copy.
      else body = isLast ? part : Buffer.from(part);
      if (!isLast) return;
      const expected = createHmac('sha256', secret).update(body).digest();
      const isGenuine =
        signature.length === expected.length &&
        timingSafeEqual(signature, expected) &&
        JSON.parse(body.toString('utf8')).action === 'opened';
      if (isGenuine) handled += 1;
      res.cork(() => {
        res.writeStatus(isGenuine ? '202 Accepted' : '401 Unauthorized');
        res.end();
      });
    });
  })
  .listen('127.0.0.1', 0, (socket) => console.log(`listening at ${us_socket_local_port(socket)}`));
