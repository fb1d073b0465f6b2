// The gateway inside another program, without HTTP: it starts a server on demand, lists its tools and calls one of them.
// Run it after a build, at the top of the project: node examples/embed.mjs

import { openGateway } from 'actor-gateway';

const gateway = await openGateway('gateway.yaml');

const tools = await gateway.tools('files');
console.log(`${tools.length} tools: ${tools.map(({ name }) => name).join(', ')}`);

const { content } = await gateway.call('files', 'read_text_file', { path: 'hello.txt' });
console.log(content[0].text.trim());

await gateway.stop();
