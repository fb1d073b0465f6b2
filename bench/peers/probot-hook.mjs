// Probot with an app that does nothing, for the webhook measure. Prints `listening at PORT`.

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createNodeMiddleware, createProbot } from 'probot';

const [secret] = process.argv.slice(2);
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
});
let handled = 0;
const app = (probot) => {
  probot.on('issues.opened', async () => {
    handled += 1;
  });
};
const probot = createProbot({ overrides: { appId: '1', privateKey, secret, logLevel: 'fatal' } });
// The gateway's webhook has the same path, so that the load generator sends the same requests to both.
const middleware = await createNodeMiddleware(app, { probot, webhooksPath: '/webhook/repohost' });
const server = createServer((request, response) => {
  if (request.url === '/handled') {
    response.end(String(handled));
    return;
  }
  middleware(request, response, () => {
    response.writeHead(404);
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => console.log(`listening at ${server.address().port}`));
