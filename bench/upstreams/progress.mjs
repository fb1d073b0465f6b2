// A server that reports progress. A call is told its first step at once; when as many calls are open as each of them
// says, each is told the other steps, one round of all calls after the other, and answered. Every notification carries
// when it was sent.

const info = { capabilities: { tools: {} }, serverInfo: { name: 'progress', version: '1' } };
const tools = [{ name: 'work', inputSchema: { type: 'object' } }];
let partial = '';
let open = [];

process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (partial + chunk).split('\n');
  partial = lines.pop() ?? '';
  for (const line of lines) take(JSON.parse(line));
});

function take({ id, method, params }) {
  if (id === undefined) return;
  if (method !== 'tools/call') {
    write([{ id, result: resultOf(method, params) }]);
    return;
  }
  const call = { id, token: params._meta.progressToken, ...params.arguments };
  open.push(call);
  write([stepOf(call, 1)]);
  if (open.length < params.arguments.together) return;
  const calls = open;
  open = [];
  tell(calls, 2);
}

/** One round; the next when this one has been taken. */
function tell(calls, step) {
  if (step > calls[0].steps) {
    write(calls.map(({ id, tag }) => ({ id, result: { content: [{ type: 'text', text: tag }] } })));
    return;
  }
  if (write(calls.map((call) => stepOf(call, step)))) setImmediate(tell, calls, step + 1);
  else process.stdout.once('drain', () => tell(calls, step + 1));
}

function stepOf({ token, tag, steps }, step) {
  const message = `${tag} ${process.hrtime.bigint()}`;
  return {
    method: 'notifications/progress',
    params: { progressToken: token, progress: step, total: steps, message },
  };
}

function write(messages) {
  const text = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return process.stdout.write(text.join(''));
}

function resultOf(method, params) {
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, ...info };
  return method === 'tools/list' ? { tools } : {};
}
