// A program that answers for an agent: what a gateway sends it, and how it answers. Repetitions carry the same
// Idempotency-Key; whoever wakes people should wake them once. Run it beside examples/automation.yaml: node examples/agent.mjs

import { createServer } from 'node:http';

/** Answers by key. A real one keeps them where a restart does not lose them. */
const answers = new Map();

/** What comes from outside may hold characters that a terminal would obey. */
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

server.listen(8790, '127.0.0.1', () => console.log('waits for jobs at http://127.0.0.1:8790/'));
