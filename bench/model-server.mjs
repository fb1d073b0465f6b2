// Minimal model server with OpenAI's chat protocol. If a prompt contains `run-ID-steps-N`, the first N
// responses request a call of the tool `echo`, the last response is a text.
//
// GET /steps?run=ID responds when the run has finished, with the milliseconds between its model requests.

import { createServer } from 'node:http';

/** Runs by id: the times of model requests, and `notify` to answer a pending /steps request. */
const runs = new Map();
const runOf = (id) => {
  const run = runs.get(id) ?? { requestedAt: [], isOver: false, notify: undefined };
  runs.set(id, run);
  return run;
};

const server = createServer((request, response) => {
  const requestedAt = performance.now();
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/steps') return sendSteps(searchParams.get('run'), response);
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => answer(Buffer.concat(pieces).toString('utf8'), requestedAt, response));
});
// Clients keep their connections during the whole measure.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => console.log(`listening at ${server.address().port}`));

/** Answers a model request that arrived at `requestedAt`. */
function answer(body, requestedAt, response) {
  const [, id, steps] = /run-(\w+)-steps-(\d+)/.exec(body) ?? [];
  if (id === undefined) return response.writeHead(400).end('{"error":{"message":"which run?"}}');
  const run = runOf(id);
  run.requestedAt.push(requestedAt);
  const requestCount = run.requestedAt.length;
  run.isOver = requestCount > Number(steps);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(run.isOver ? finalAnswer() : toolCall(requestCount), () => {
    if (run.isOver) run.notify?.();
  });
}

/** Sends the times between a run's model requests when the run has finished. */
function sendSteps(id, response) {
  const run = runOf(id);
  run.notify = () => {
    runs.delete(id);
    const durations = run.requestedAt.slice(1).map((at, n) => at - run.requestedAt[n]);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(durations));
  };
  if (run.isOver) run.notify();
}

const finalAnswer = () => eventStreamOf({ content: 'That is all.' }, 'stop');
const toolCall = (n) =>
  eventStreamOf(
    {
      tool_calls: [
        { index: 0, id: `c${n}`, type: 'function', function: { name: 'echo', arguments: `{"n":${n}}` } },
      ],
    },
    'tool_calls',
  );

function eventStreamOf(delta, finish) {
  const head = { id: 'chat', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'quick' };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const chunks = [
    { ...head, choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { ...head, choices: [], usage },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}
