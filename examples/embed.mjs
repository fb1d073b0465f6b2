// The gateway inside another program: gateway-core without HTTP. It starts a server on demand, lists its tools
// and calls one of them. Run it after a build, at the top of the project: node examples/embed.mjs

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Gateway, loadConfig, readClientMessage, silentLog, version } from 'actor-gateway';

const { config, catalog, secrets } = await loadConfig('gateway.yaml', process.env);
const stateDir = mkdtempSync(join(tmpdir(), 'embedded-gateway-'));
const gateway = new Gateway({
  config: { ...config, state_dir: stateDir },
  catalog,
  secrets,
  log: silentLog,
  version,
  environment: process.env,
});
await gateway.start();

/** Sends one JSON-RPC request to a server and gives the answer. */
function request(server, message) {
  return new Promise((resolve) => {
    const envelope = readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })));
    const outlet = {
      send: () => {},
      drop: () => resolve(undefined),
      finish: (answer) => resolve(JSON.parse(answer)),
    };
    gateway.router.single(gateway.server(server), envelope, outlet, { requestId: 'embedded' });
  });
}

const { result } = await request('files', { method: 'tools/list' });
console.log(`${result.tools.length} tools: ${result.tools.map(({ name }) => name).join(', ')}`);

const params = { name: 'read_text_file', arguments: { path: 'hello.txt' } };
const read = await request('files', { method: 'tools/call', params });
console.log(read.result.content[0].text.trim());

await gateway.stop();
rmSync(stateDir, { recursive: true });
