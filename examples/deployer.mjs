// Deployment target of examples/deployments: accepts a version and reports its status. Retries carry the same
// Idempotency-Key and do not deploy again. Run it next to examples/flow-automation.yaml: node
// examples/deployer.mjs [PORT]

import { createServer } from 'node:http';

/** Deployments by key. A real program would store them persistently. */
const shipped = new Map();

/** Removes control characters, which could manipulate the terminal. */
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
  console.log(`accepting deployments at http://127.0.0.1:${server.address().port}/`),
);
