// Reads an agent from a document, and selects the runtime that produces its answers: an external program with
// a URL, a script for tests, or the gateway with a model.

import { dirname, resolve } from 'node:path';
import { contentHash } from '../../content-hash.ts';
import { joinPath } from '../../reader/field-path.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { readSourceFile, SourceFile } from '../../reader/source-file.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { checkAddress } from '../fields/address.ts';
import type { ReadResource, ServerPosition } from '../resource-context.ts';
import { Fields } from '../triggers/trigger-type.ts';
import type { Agent, AgentRuntime } from './agent.ts';
import { type AgentSpec, modelFields } from './agent-schema.ts';
import { readServers } from './agent-servers.ts';
import { readModel } from './read-model.ts';
import { readSpec } from './read-spec.ts';
import { readScript } from './script.ts';

const SCRIPTED_PREFIX = 'scripted:';
const RUNTIME_PATH = 'spec.runtime.http';

/**
 * Reports problems to `reader`. Paths are relative to the folder of `file`, an absolute path. Never rejects.
 */
export async function readAgent(reader: SchemaReader, root: YamlTree, file: string): Promise<ReadResource> {
  const written = readSpec(reader, root);
  const { spec, document } = written;
  const name = document?.metadata?.name;
  if (!reader.has('spec.model') && !reader.has('spec.runtime') && reader.has('spec'))
    reader.report('spec', 'needs a model or a runtime');
  const script = await scriptOf(reader, spec.model, file);
  const runtime =
    readExternalRuntime(reader, spec, script?.path) ??
    (reader.has('spec.runtime') ? undefined : readModel(reader, written, file));
  if (runtime !== undefined && runtime.kind !== 'model') {
    refuseModelFields(reader);
    // Called only to report problems: the external program uses the servers itself.
    readServers(reader, spec, file);
  }
  const read = { kind: 'Agent', name, reader };
  if (name === undefined || runtime === undefined || hasError(reader.problems)) return read;
  const { labels = {}, annotations = {} } = document?.metadata ?? {};
  const content = {
    name,
    description: spec.description,
    model: spec.model,
    format: spec.format,
    runtime,
    tools: spec.tools,
    mcp_servers: namesOf(spec.mcp_servers),
    labels: labels as Readonly<Record<string, string>>,
    annotations: annotations as Readonly<Record<string, string>>,
  };
  const agent: Agent = { ...content, file, hash: contentHash({ content, script: script?.text }) };
  return { ...read, agent, servers: positionsOf(reader, spec.mcp_servers) };
}

/** Returns the tool servers with their paths in the file, for later checks against the catalog. */
function positionsOf(reader: SchemaReader, servers: AgentSpec['mcp_servers']): ServerPosition[] {
  return servers.flatMap((each, index) => {
    const item = joinPath('spec.mcp_servers', index);
    const path = ['server', 'name'].map((key) => joinPath(item, key)).find((key) => reader.has(key)) ?? item;
    return namesOf([each]).map((name) => ({ name, path }));
  });
}

function namesOf(servers: AgentSpec['mcp_servers']): string[] {
  return servers.flatMap((each) =>
    typeof each === 'object' ? (each.name ?? each.server ?? []) : (each ?? []),
  );
}

/** Reports fields that need a model. Without a model, restrictions such as `policy` would have no effect. */
function refuseModelFields(reader: SchemaReader): void {
  for (const key of Object.keys(modelFields)) {
    const path = joinPath('spec', key);
    if (reader.has(path)) reader.reportKey(path, 'is only for agents that the gateway runs with a model');
  }
}

/** Returns the script of `model: scripted:FILE`. Its text is part of the agent's hash, to detect changes. */
async function scriptOf(
  reader: SchemaReader,
  model: string | undefined,
  file: string,
): Promise<{ readonly path: string; readonly text: string } | undefined> {
  if (model?.startsWith(SCRIPTED_PREFIX) !== true) return undefined;
  const path = resolve(dirname(file), model.slice(SCRIPTED_PREFIX.length));
  const source = await readSourceFile(path);
  const isReadable = source instanceof SourceFile;
  for (const fault of isReadable ? readScript(source).faults : [source.reason])
    reader.report('spec.model', `${path}: ${fault}`);
  return isReadable ? { path, text: source.text } : undefined;
}

function readExternalRuntime(
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
  if (http === undefined) return undefined;
  // A missing value was reported, or comes from a variable that will be set on the gateway's machine.
  const { url, headers, timeout_seconds }: Partial<typeof http> = http;
  checkAddress(new Fields(reader, RUNTIME_PATH), 'url', url);
  checkHeaderNames(reader, headers ?? {});
  return { kind: 'http', url: url ?? '', headers: headers ?? {}, timeout_seconds: timeout_seconds ?? 0 };
}

/** Headers that the gateway sets itself. */
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
    if (seen.has(key)) reader.reportKey(path, 'is a duplicate in different case');
    seen.add(key);
  }
}
