// The yardstick for answers a gateway gives by itself: the same bytes, looked up by the request's body and sent from a
// buffer that was ready before, by the same HTTP server. What a gateway costs is what it costs above this.
// A large answer goes out as the client takes it: the server would copy the rest of it into a buffer of its own.
//
// node bench/prepared-buffer.mjs FILE      FILE: JSON, [[request body, answer body], …]; writes its port to stdout

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
        give(res, answer ?? Buffer.alloc(0));
      });
    });
  })
  .listen('127.0.0.1', 0, (socket) => console.log(`listening at ${us_socket_local_port(socket)}`));

function give(res, answer) {
  const [isWritten] = res.tryEnd(answer, answer.length);
  if (isWritten) return;
  res.onWritable((offset) => res.tryEnd(answer.subarray(offset), answer.length)[0]);
}
