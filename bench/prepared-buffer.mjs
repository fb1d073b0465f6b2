// Baseline for responses that the gateway generates itself: the same HTTP server sends the same bytes from a
// prepared buffer, selected by the request body. The cost of the gateway is the difference. Large responses
// are sent with backpressure, because the HTTP server copies data that the client does not read yet.
//
// node bench/prepared-buffer.mjs FILE      FILE: JSON, [[request body, response body], …]; prints the port

import { App, us_socket_local_port } from 'uWebSockets.js';
import { readFileSync } from 'node:fs';

const answers = new Map(
  JSON.parse(readFileSync(process.argv[2], 'utf8')).map(([request, answer]) => [
    request,
    Buffer.from(answer),
  ]),
);

App()
  .post('/*', (res) => {
    let body = '';
    res.onAborted(() => {});
    res.onData((chunk, isLast) => {
      body += Buffer.from(chunk).toString('utf8');
      if (!isLast) return;
      const answer = answers.get(body);
      res.cork(() => {
        res.writeStatus(answer === undefined ? '404 Not Found' : '200 OK');
        res.writeHeader('Content-Type', 'application/json');
        send(res, answer ?? Buffer.alloc(0));
      });
    });
  })
  .listen('127.0.0.1', 0, (socket) => console.log(`listening at ${us_socket_local_port(socket)}`));

/** Sends as much as the client reads, and continues when the client has read it. */
function send(res, answer) {
  const [isWritten] = res.tryEnd(answer, answer.length);
  if (isWritten) return;
  res.onWritable((offset) => res.tryEnd(answer.subarray(offset), answer.length)[0]);
}
