// From the tree of one document to an agent. Who runs it is decided here: a program behind an address, or a script.

import { dirname, resolve } from 'node:path';
import type { Static } from 'typebox';
import { contentHash } from '../../content-hash.ts';
import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults, type Written } from '../../reader/fill-defaults.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { readSourceFile, SourceFile } from '../../reader/source-file.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { checkAddress } from '../fields/address.ts';
import type { ReadResource } from '../resource-context.ts';
import { Fields } from '../triggers/trigger-type.ts';
import type { Agent, AgentRuntime, ToolServerEntry } from './agent.ts';
import { agentSchema, agentSpecSchema } from './agent-schema.ts';
import { readScript } from './script.ts';

type WrittenAgent = Written<Static<typeof agentSchema>>;
type AgentSpec = Static<typeof agentSpecSchema>;

/** What is bad has been left out; a whole item that is bad is undefined. */
type WrittenToolServer = Partial<AgentSpec['mcp_servers'][number]>;

const SCRIPTED = 'scripted:';
const RUNTIME_PATH = 'spec.runtime.http';

/** Reports to `reader`; `file` is an absolute path, to which paths in it are relative. Never rejects. */
export async function readAgent(reader: SchemaReader, root: YamlTree, file: string): Promise<ReadResource> {
  const written = reader.read(agentSchema, root, '') as WrittenAgent | undefined;
  const name = written?.metadata?.name;
  const spec = fillDefaults(agentSpecSchema, (written?.spec ?? {}) as Written<AgentSpec>);
  if (!reader.has('spec.model') && !reader.has('spec.runtime') && reader.has('spec'))
    reader.report('spec', 'nobody runs it: give it a runtime, or a model');
  const script = await scriptOf(reader, spec.model, file);
  const runtime = runtimeOf(reader, spec, script?.path);
  const mcp_servers = toolServers(reader, spec);
  const read = { kind: 'Agent', name, reader };
  if (name === undefined || hasError(reader.problems)) return read;
  const { labels = {}, annotations = {} } = written?.metadata ?? {};
  const content = {
    name,
    description: spec.description,
    model: spec.model,
    runtime,
    mcp_servers,
    system_prompt: spec.system_prompt,
    temperature: spec.temperature,
    max_tokens: spec.max_tokens,
    tools: spec.tools,
    labels: labels as Readonly<Record<string, string>>,
    annotations: annotations as Readonly<Record<string, string>>,
  };
  const agent: Agent = { ...content, file, hash: contentHash({ content, script: script?.text }) };
  return { ...read, agent };
}

/** The script's text counts for the hash: a changed script is a changed agent. */
async function scriptOf(
  reader: SchemaReader,
  model: string | undefined,
  file: string,
): Promise<{ readonly path: string; readonly text: string } | undefined> {
  if (model?.startsWith(SCRIPTED) !== true) return undefined;
  const path = resolve(dirname(file), model.slice(SCRIPTED.length));
  const source = await readSourceFile(path);
  const isThere = source instanceof SourceFile;
  for (const fault of isThere ? readScript(source).faults : [source.reason])
    reader.report('spec.model', `${path}: ${fault}`);
  return isThere ? { path, text: source.text } : undefined;
}

function runtimeOf(
  reader: SchemaReader,
  spec: AgentSpec,
  script: string | undefined,
): AgentRuntime | undefined {
  const http = spec.runtime?.http;
  if (script !== undefined) {
    if (reader.has('spec.runtime'))
      reader.reportKey('spec.runtime', 'contradicts model, which names a script');
    return { kind: 'scripted', script };
  }
  if (http?.url === undefined) return undefined;
  checkAddress(new Fields(reader, RUNTIME_PATH), 'url', http.url);
  checkHeaderNames(reader, http.headers);
  return { kind: 'http', url: http.url, headers: http.headers, timeout_seconds: http.timeout_seconds };
}

/** They frame the request, or are the gateway's own word to the program. */
const ownHeaders = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'traceparent',
  'transfer-encoding',
  'upgrade',
]);

function checkHeaderNames(reader: SchemaReader, headers: Readonly<Record<string, string>>): void {
  const seen = new Set<string>();
  for (const name of Object.keys(headers)) {
    const path = joinPath(joinPath(RUNTIME_PATH, 'headers'), name);
    const key = name.toLowerCase();
    if (ownHeaders.has(key)) reader.reportKey(path, 'is set by the gateway itself');
    if (seen.has(key)) reader.reportKey(path, 'is there twice, in another spelling');
    seen.add(key);
  }
}

function toolServers(reader: SchemaReader, spec: AgentSpec): ToolServerEntry[] {
  const names = new Set<string>();
  return spec.mcp_servers.flatMap((server: WrittenToolServer | undefined, index) => {
    if (server === undefined) return [];
    const { name = '', command = '', args = [], env = {} } = server;
    const path = joinPath('spec.mcp_servers', index);
    if (names.has(name)) reader.report(joinPath(path, 'name'), `is there twice: ${name}`);
    if (name !== '') names.add(name);
    return [{ name, command, args, env }];
  });
}
