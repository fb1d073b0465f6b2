// Input for node-readers.ts: a node of a flow, with the context for reading its `config`.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import type { Compiler } from './compiler.ts';
import type { FlowBody } from './flow.ts';
import type { InlineHandlers } from './inline-handlers.ts';

export interface NodeToRead {
  readonly reader: SchemaReader;
  readonly compiler: Compiler;
  /** Agents and fleets that the flow defines itself. */
  readonly inline: InlineHandlers;
  readonly id: string;
  /** Path of the node's `config`. */
  readonly path: string;
  /** Tree of the node's `config`. */
  readonly tree: YamlTree | undefined;
  /** Valid members of `config`, with defaults. */
  readonly config: Readonly<Record<string, unknown>>;
  /** For a loop, reads its nodes and connections; undefined if they have errors. */
  body(): FlowBody | undefined;
}
