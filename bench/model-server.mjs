// The quickest model there is, speaking OpenAI's protocol for chats: asked about `run-ID-steps-N` it wants one call of `echo` in each
// of N answers, then it says something. What a step takes is told by the times at which it is asked.
//
// GET /steps?run=ID answers when the run has its last answer: the milliseconds between its questions.

import { createServer } from 'node:http';

/** Runs by their ids: when they were asked, and who waits for the end of it. */
const runs = new Map();
const runOf = (id) => {
  const run = runs.get(id) ?? { askedAt: [], isOver: false, tell: undefined };
  runs.set(id, run);
  return run;
};

const server = createServer((request, response) => {
  const at = performance.now();
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/steps') return tellSteps(searchParams.get('run'), response);
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => answer(Buffer.concat(pieces).toString('utf8'), at, response));
});
// Clients keep their connections for the whole of a measure.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => console.log(`listening at ${server.address().port}`));

function answer(body, at, response) {
  const [, id, steps] = /run-(\w+)-steps-(\d+)/.exec(body) ?? [];
  if (id === undefined) return response.writeHead(400).end('{"error":{"message":"which run?"}}');
  const run = runOf(id);
  run.askedAt.push(at);
  const asked = run.askedAt.length;
  run.isOver = asked > Number(steps);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(run.isOver ? words() : call(asked), () => {
    if (run.isOver) run.tell?.();
  });
}

function tellSteps(id, response) {
  const run = runOf(id);
  run.tell = () => {
    runs.delete(id);
    const took = run.askedAt.slice(1).map((at, n) => at - run.askedAt[n]);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(took));
  };
  if (run.isOver) run.tell();
}

const words = () => streamed({ content: 'That is all.' }, 'stop');
const call = (n) =>
  streamed(
    {
      tool_calls: [
        { index: 0, id: `c${n}`, type: 'function', function: { name: 'echo', arguments: `{"n":${n}}` } },
      ],
    },
    'tool_calls',
  );

function streamed(delta, finish) {
  const head = { id: 'chat', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'quick' };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const chunks = [
    { ...head, choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { ...head, choices: [], usage },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}
