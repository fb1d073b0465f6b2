// An external program that runs an agent: the requests of the gateway and the responses. Retries carry the
// same Idempotency-Key, so the program can ignore duplicates. Run it next to examples/automation.yaml: node
// examples/agent.mjs

import { createServer } from 'node:http';

/** Answers by key. A real program would store them persistently. */
const answers = new Map();

/** Removes control characters, which could manipulate the terminal. */
const shown = (text) => text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { input, parameters, conversation, history, attempt } = JSON.parse(Buffer.concat(chunks).toString());
  const key = request.headers['idempotency-key'];
  console.log(shown(`attempt ${attempt} of ${key}: ${input}`));
  if (!answers.has(key))
    answers.set(
      key,
      `Woke Ada for ${conversation}, after ${history.length} messages: ${parameters.what ?? input}`,
    );
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ text: answers.get(key) }));
});

server.listen(8790, '127.0.0.1', () => console.log('waiting for jobs at http://127.0.0.1:8790/'));
