// The gateway as a library in another program, without HTTP: starts a server on demand, lists its tools and
// calls one of them. Run it in the project folder, after a build: node examples/embed.mjs

import { openGateway } from 'actor-gateway';

const gateway = await openGateway('gateway.yaml');

const tools = await gateway.tools('files');
console.log(`${tools.length} tools: ${tools.map(({ name }) => name).join(', ')}`);

const { content } = await gateway.call('files', 'read_text_file', { path: 'hello.txt' });
console.log(content[0].text.trim());

await gateway.stop();
