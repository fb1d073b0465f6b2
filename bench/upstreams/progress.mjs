// MCP server that reports progress. It sends a call's first step immediately. When `together` calls are
// open (an argument of each call), it sends the other steps, round by round for all calls, then the results.
// Each notification contains its send time.

const info = { capabilities: { tools: {} }, serverInfo: { name: 'progress', version: '1' } };
const tools = [{ name: 'work', inputSchema: { type: 'object' } }];
let partial = '';
/** Calls that wait until `together` calls are open. */
let openCalls = [];

process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (partial + chunk).split('\n');
  partial = lines.pop() ?? '';
  for (const line of lines) handle(JSON.parse(line));
});

function handle({ id, method, params }) {
  if (id === undefined) return;
  if (method !== 'tools/call') {
    write([{ id, result: resultOf(method, params) }]);
    return;
  }
  const call = { id, token: params._meta.progressToken, ...params.arguments };
  openCalls.push(call);
  write([stepOf(call, 1)]);
  if (openCalls.length < params.arguments.together) return;
  const calls = openCalls;
  openCalls = [];
  sendStep(calls, 2);
}

/** Sends one step for all calls, then the next step. After the last step, sends the results. */
function sendStep(calls, step) {
  if (step > calls[0].steps) {
    write(calls.map(({ id, tag }) => ({ id, result: { content: [{ type: 'text', text: tag }] } })));
    return;
  }
  if (write(calls.map((call) => stepOf(call, step)))) setImmediate(sendStep, calls, step + 1);
  else process.stdout.once('drain', () => sendStep(calls, step + 1));
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
