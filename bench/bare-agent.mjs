// Baseline for the measures of agents: a minimal loop with the package `ai`, a model and a stdio MCP server.
// It stores nothing.
//
// bare-agent.mjs MODEL_URL SERVER      POST /RUN/STEPS responds when the run has finished

import { createServer } from 'node:http';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { jsonSchema, streamText, tool } from 'ai';

globalThis.AI_SDK_LOG_WARNINGS = false;

const [baseURL, program] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: 'bench', baseURL, includeUsage: true });
const client = new Client({ name: 'bare-agent', version: '1' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [program] }));
const { tools: listed } = await client.listTools();
const tools = Object.fromEntries(
  listed.map(({ name, description, inputSchema }) => [
    name,
    tool({ description, inputSchema: jsonSchema(inputSchema) }),
  ]),
);

const server = createServer(async (request, response) => {
  const [, run, steps] = request.url.split('/');
  response.end(await runAgent(`run-${run}-steps-${steps}`));
});
server.listen(0, '127.0.0.1', () => console.log(`listening at ${server.address().port}`));

async function runAgent(question) {
  const messages = [{ role: 'user', content: question }];
  for (;;) {
    const { fullStream, response } = streamText({ model: provider('quick'), messages, tools, maxRetries: 0 });
    const calls = [];
    let text = '';
    for await (const part of fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'tool-call') calls.push(part);
      if (part.type === 'text-delta') text += part.text;
    }
    if (calls.length === 0) return text;
    messages.push(...(await response).messages);
    const content = await Promise.all(calls.map(resultOf));
    messages.push({ role: 'tool', content });
  }
}

async function resultOf({ toolCallId, toolName, input }) {
  const { content } = await client.callTool({ name: toolName, arguments: input });
  const value = content.map(({ text }) => text).join('\n');
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } };
}
