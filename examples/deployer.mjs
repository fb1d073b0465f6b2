// What examples/deployments ships to: takes a version, and says whether it is up. Repetitions carry the same Idempotency-Key, and ship
// nothing twice. Run it beside examples/flow-automation.yaml: node examples/deployer.mjs [PORT]

import { createServer } from 'node:http';

/** Deployments by key. A real one keeps them where a restart does not lose them. */
const shipped = new Map();

/** What comes from outside may hold characters that a terminal would obey. */
const shown = (text) => String(text).replace(/[\p{Cc}\p{Cf}]+/gu, ' ');

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const answer = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (request.method === 'POST' && request.url === '/deployments') {
    const { version, approved_by: by } = JSON.parse(Buffer.concat(chunks).toString());
    const key = request.headers['idempotency-key'];
    console.log(shown(`${shipped.has(key) ? 'again' : 'ships'} ${version}, approved by ${by}, key ${key}`));
    shipped.set(key, version);
    answer(201, { version });
    return;
  }
  const version = decodeURIComponent(request.url?.replace(/^\/deployments\//, '') ?? '');
  const isUp = [...shipped.values()].includes(version);
  answer(isUp ? 200 : 404, { version, state: isUp ? 'up and well' : 'not here' });
});

const port = Number(process.argv[2] ?? 8792);
server.listen(port, '127.0.0.1', () =>
  console.log(`takes deployments at http://127.0.0.1:${server.address().port}/`),
);
